import { bytesToHex } from '@ethereumjs/util';
import { Type } from 'typebox';
import { formOfLog } from '../chain/log-form.ts';
import { hash, identifier } from '../rpc/forms.ts';
import { type Method, method } from '../rpc/registry.ts';
import { findLogs, logConditionBytes, logFilter, type LogFilter, logMatcher } from './logs.ts';

const filterId = { name: 'filter id', schema: identifier } as const;
const changes = Type.Array(Type.Union([hash, Type.Object({ transactionHash: hash })]));

/** Returns whether a block to come lies within a filter; words such as `latest` bound nothing that is yet to come. */
function reaches({ fromBlock, toBlock, blockHash }: LogFilter, number: bigint): boolean {
  const bound = (id: LogFilter['fromBlock']): bigint | undefined =>
    typeof id === 'string' && id.startsWith('0x') && id.length < 66 ? BigInt(id) : undefined;
  return blockHash === undefined && number >= (bound(fromBlock) ?? 0n) && number <= (bound(toBlock) ?? number);
}

/** Methods that collect events until the client reads them. */
export const filterMethods: readonly Method[] = [
  method({
    name: 'eth_newFilter',
    namespace: 'eth',
    summary: 'Begins to collect logs and says the id of the filter',
    params: [{ name: 'filter', schema: logFilter }],
    result: identifier,
    handler: (context, filter) => {
      const matches = logMatcher(filter);
      return context.filters.add(context.caller, {
        bytes: logConditionBytes(filter),
        all: async () => (await findLogs(context, filter)).map(formOfLog),
        begin: (add) =>
          context.news.onLogs((logs) => {
            if (reaches(filter, BigInt(String(logs[0]?.['blockNumber'])))) logs.filter(matches).forEach(add);
          }),
      });
    },
  }),
  method({
    name: 'eth_newBlockFilter',
    namespace: 'eth',
    summary: 'Begins to collect hashes of blocks and says the id of the filter',
    params: [],
    result: identifier,
    handler: ({ caller, filters, news }) =>
      filters.add(caller, { begin: (add) => news.onBlock(({ hash: one }) => add(one)) }),
  }),
  method({
    name: 'eth_newPendingTransactionFilter',
    namespace: 'eth',
    summary: 'Begins to collect hashes of transactions that wait and says the id of the filter',
    params: [],
    result: identifier,
    handler: ({ caller, filters, news }) =>
      filters.add(caller, {
        begin: (add) => news.onPending((transaction) => add(bytesToHex(transaction.hash()))),
      }),
  }),
  method({
    name: 'eth_getFilterChanges',
    namespace: 'eth',
    summary: 'What a filter collected since it was asked last',
    params: [filterId],
    result: changes,
    handler: ({ filters }, id) => filters.changes(id),
  }),
  method({
    name: 'eth_getFilterLogs',
    namespace: 'eth',
    summary: 'All logs that a filter stands for',
    params: [filterId],
    result: changes,
    handler: async ({ filters }, id) => await filters.all(id),
  }),
  method({
    name: 'eth_uninstallFilter',
    namespace: 'eth',
    summary: 'Ends a filter; whether it was there',
    params: [filterId],
    result: Type.Boolean(),
    handler: ({ filters }, id) => filters.remove(id),
  }),
];
