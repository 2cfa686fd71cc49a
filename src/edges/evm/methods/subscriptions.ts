import { bytesToHex } from '@ethereumjs/util';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { headForm, transactionForm } from '../executor/block-forms.ts';
import { identifier } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { conditionBytes, logCondition, logConditionBytes, logMatcher } from './logs.ts';

type Report = (result: unknown) => void;
type Start = (report: Report) => () => void;
type Kind = (context: MethodContext, option: unknown) => Start;

const mostHashes = 1000;
const transactionsWanted = Type.Object({
  transactionHashes: Type.Optional(
    Type.Union([Type.Array(Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }), { maxItems: mostHashes }), Type.Null()]),
  ),
});
const [checkCondition, checkTransactions] = [Compile(logCondition), Compile(transactionsWanted)];

/** The kinds of subscriptions: each checks its option and returns how to start it. */
const kinds: Readonly<Record<string, Kind>> = {
  newHeads: (context) => (tell) => context.news.onBlock(({ fields, hash }) => tell(headForm(fields, hash))),
  logs: (context, option) => {
    const condition = option ?? {};
    if (!checkCondition.Check(condition)) throw unfit('logs');
    const matches = logMatcher(condition);
    return bounded(context, logConditionBytes(condition), (tell) =>
      context.news.onLogs((logs) => logs.filter(matches).forEach(tell)),
    );
  },
  newPendingTransactions: (context, option) => {
    if (option !== undefined && option !== null && typeof option !== 'boolean') throw unfit('newPendingTransactions');
    return (tell) =>
      context.news.onPending((tx) => tell(option === true ? transactionForm(tx) : bytesToHex(tx.hash())));
  },
  /** This program never catches up with other nodes, so nothing ever changes. */
  syncing: () => (tell) => {
    tell(false);
    return () => undefined;
  },
  transactionReceipts: (context, option) => {
    const condition = option ?? {};
    if (!checkTransactions.Check(condition)) throw unfit('transactionReceipts');
    const { transactionHashes } = condition;
    const wanted = transactionHashes && new Set(transactionHashes.map((one) => one.toLowerCase()));
    return bounded(context, conditionBytes(wanted?.size ?? 0), (tell) =>
      context.news.onReceipts((all) => {
        const receipts = all.filter(({ transactionHash: one }) => wanted?.has(one) ?? true);
        if (receipts.length > 0) tell(receipts);
      }),
    );
  },
};

/** Counts the condition of a subscription as its client's while it lasts. */
const bounded =
  ({ conditions, caller }: MethodContext, bytes: number, start: Start): Start =>
  (tell) => {
    const claim = conditions.enter(caller);
    try {
      claim.grow(bytes);
    } catch (caught) {
      claim.leave();
      throw caught;
    }
    const end = start(tell);
    return () => {
      end();
      claim.leave();
    };
  };

const unfit = (kind: string): RpcError =>
  new RpcError(rpcCodes.invalidParameters, `invalid argument 1: not a valid option of ${kind}`);

/** Methods that notify of events as soon as they can be read, on connections that stay. */
export const subscriptionMethods: readonly Method[] = [
  method({
    name: 'eth_subscribe',
    namespace: 'eth',
    summary: 'Begins to tell of something and says the id of the subscription; over WebSocket alone',
    params: [
      { name: 'kind', schema: Type.String() },
      { name: 'option', schema: Type.Unknown(), optional: true },
    ],
    result: identifier,
    handler: async (context, kind, option) => {
      const open = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (!open)
        throw new RpcError(rpcCodes.methodNotFound, `no "${kind.slice(0, 100)}" subscription in eth namespace`);
      const start = open(context, option);
      // The first block after the answer must be reported, also in the first moments of a start.
      await context.news.started;
      return connectionOf(context).subscribe(start);
    },
  }),
  method({
    name: 'eth_unsubscribe',
    namespace: 'eth',
    summary: 'Ends a subscription of this connection; whether it was there',
    params: [{ name: 'subscription id', schema: identifier }],
    result: Type.Boolean(),
    handler: (context, id) => {
      if (!connectionOf(context).unsubscribe(id)) throw new RpcError(rpcCodes.server, 'subscription not found');
      return true;
    },
  }),
];

function connectionOf({ connection }: MethodContext): NonNullable<MethodContext['connection']> {
  if (!connection) throw new RpcError(rpcCodes.methodNotFound, 'notifications not supported');
  return connection;
}
