import { Type } from 'typebox';
import type { ChainLog } from '../chain/chain-blocks.ts';
import type { ExecutedLog } from '../executor/outcome.ts';
import { address, blockId, hash } from '../rpc/forms.ts';
import type { MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { blockOf } from './block-of.ts';

/**
 * Limits of one request for logs: its blocks, the logs of its answer, and the values that it may name. So many bytes of
 * data, twice as many digits, with the other fields of each log, are an answer of 25 MB.
 */
const most = { blocks: 10_000n, logs: 10_000, dataBytes: 9_000_000, addresses: 1000, topics: 1000 };

const topic = Type.Union([Type.Null(), hash, Type.Array(Type.Union([Type.Null(), hash]), { maxItems: most.topics })]);
const wanted = {
  address: Type.Optional(Type.Union([address, Type.Array(address, { maxItems: most.addresses })])),
  topics: Type.Optional(Type.Array(topic, { maxItems: 4 })),
};

/** The logs that a client wants, whatever block they are in. */
export const logCondition = Type.Object(wanted, { description: 'Logs by address and topics' });
export type LogCondition = Type.Static<typeof logCondition>;

/** The logs of some blocks that a client wants. */
export const logFilter = Type.Object(
  {
    fromBlock: Type.Optional(blockId),
    toBlock: Type.Optional(blockId),
    blockHash: Type.Optional(hash),
    ...wanted,
  },
  { description: 'Logs by block, address and topics' },
);
export type LogFilter = Type.Static<typeof logFilter>;

/** The conditions by position and in lower case; an empty list matches any value. */
function termsOf({ address: of, topics = [] }: LogCondition) {
  return {
    addresses: [of ?? []].flat().map((one) => one.toLowerCase()),
    topics: topics.map((one) => {
      const values = [one].flat();
      return values.includes(null) ? [] : values.map((each) => String(each).toLowerCase());
    }),
  };
}

/** Returns a test whether a log matches; an empty list and null match any value at their position. */
export function logMatcher(condition: LogCondition): (log: ExecutedLog) => boolean {
  const { addresses, topics } = termsOf(condition);
  const of = new Set(addresses);
  const values = topics.map((one) => new Set(one));
  return (log) =>
    (of.size === 0 || of.has(log.address)) &&
    values.length <= log.topics.length &&
    values.every((some, at) => some.size === 0 || some.has(log.topics[at] ?? ''));
}

/** About what a condition of so many values needs in memory, and what each block costs that is compared with it. */
export const conditionBytes = (values: number): number => 5_000 + 150 * values;

/** The same of a condition for logs. */
export function logConditionBytes(condition: LogCondition): number {
  const { addresses, topics } = termsOf(condition);
  return conditionBytes(addresses.length + topics.flat().length);
}

/** The logs that a filter names, oldest first. Fails with an RpcError beyond the bounds of one request. */
export async function findLogs(context: MethodContext, filter: LogFilter): Promise<readonly ChainLog[]> {
  const [from, to] = await rangeOf(context, filter);
  const { logs, dataBytes } = most;
  const result = await context.blocks.logs({ from, to, ...termsOf(filter), most: { logs, dataBytes } });
  if (!('exceeds' in result)) return result;
  const bound = result.exceeds === 'logs' ? `${logs} results` : `${dataBytes} bytes of data`;
  throw new RpcError(rpcCodes.invalidParameters, `query returned more than ${bound}`);
}

/** First and last block that a filter searches. */
async function rangeOf(context: MethodContext, filter: LogFilter): Promise<readonly [bigint, bigint]> {
  if (filter.blockHash === undefined) return await range(context, filter);
  if (filter.fromBlock !== undefined || filter.toBlock !== undefined)
    throw new RpcError(rpcCodes.invalidParameters, 'cannot specify both BlockHash and FromBlock/ToBlock');
  const block = await blockOf(context, filter.blockHash);
  if (!block) throw new RpcError(rpcCodes.server, 'unknown block');
  return [block.number, block.number];
}

async function range(context: MethodContext, { fromBlock, toBlock }: LogFilter): Promise<readonly [bigint, bigint]> {
  // Words such as `latest` mean this block at both ends, whatever is sealed meanwhile.
  const latest = await context.blocks.head();
  const { number: head } = latest;
  const numberOf = async (id: LogFilter['fromBlock']): Promise<bigint> => {
    if (id === undefined) return head;
    if (typeof id === 'string' && id.startsWith('0x') && id.length < 66) return BigInt(id);
    return (await blockOf(context, id, latest))?.number ?? head + 1n;
  };
  const [from, to] = [await numberOf(fromBlock), await numberOf(toBlock)];
  if (from > to) throw new RpcError(rpcCodes.invalidParameters, 'invalid block range params');
  if (to > head) throw new RpcError(rpcCodes.invalidParameters, 'block range extends beyond current head block');
  if (to - from >= most.blocks)
    throw new RpcError(rpcCodes.invalidParameters, `block range of ${to - from + 1n} exceeds ${most.blocks}`);
  return [from, to];
}
