import { type Static, Type } from 'typebox';
import type { BlockHead } from '../chain/chain-blocks.ts';
import type { FlatCall } from '../executor/tracers/flat-calls.ts';
import { address, blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { blockOf, knownBlock } from './block-of.ts';
import { traces } from './debug.ts';

/** Blocks of one search at most, and of its answer the calls and the bytes that they were given and returned. */
const most = { blocks: 100n, calls: 10_000, dataBytes: 9_000_000 };
const flat = { tracer: 'flatCallTracer', tracerConfig: { convertParityErrors: true, ofMachine: true } } as const;
const ofTransaction = { name: 'transaction hash', schema: hash } as const;
const call = Type.Object({
  action: Type.Unknown(),
  result: Type.Unknown(),
  subtraces: Type.Integer(),
  traceAddress: Type.Array(Type.Integer()),
  type: Type.String(),
  transactionHash: hash,
});
const calls = Type.Union([Type.Null(), Type.Array(call)]);
const optional = Type.Optional;
const filter = Type.Object({
  fromBlock: optional(blockId),
  toBlock: optional(blockId),
  fromAddress: optional(Type.Array(address)),
  toAddress: optional(Type.Array(address)),
  mode: optional(Type.Enum(['union', 'intersection'])),
  after: optional(Type.Integer({ minimum: 0 })),
  count: optional(Type.Integer({ minimum: 0 })),
});

/** The calls of a block's transactions, or of one; what failed has no result. */
async function callsOf(context: MethodContext, head: BlockHead, index?: number): Promise<readonly FlatCall[]> {
  if (head.transactions === 0) return [];
  const all = await traces(context, head, flat, index);
  return all.flatMap(({ result }) => (result as readonly FlatCall[]).map((one) => ({ result: null, ...one })));
}

async function callsOfTransaction(context: MethodContext, wanted: string): Promise<readonly FlatCall[] | null> {
  const hit = await context.blocks.ofTransaction(wanted);
  return hit ? await callsOf(context, hit.head, hit.index) : null;
}

/** Returns whether a call comes from, or goes to, one of the addresses that are wanted. */
function matcher({ fromAddress = [], toAddress = [], mode = 'union' }: Static<typeof filter>) {
  const [from, to] = [fromAddress, toAddress].map((list) => new Set(list.map((one) => one.toLowerCase())));
  return ({ action, result }: FlatCall): boolean => {
    const isFrom = from?.has(action['from'] ?? action['address'] ?? '') === true;
    const isTo = to?.has(action['to'] ?? action['refundAddress'] ?? result?.['address'] ?? '') === true;
    if (fromAddress.length === 0) return toAddress.length === 0 || isTo;
    if (toAddress.length === 0) return isFrom;
    return mode === 'union' ? isFrom || isTo : isFrom && isTo;
  };
}

async function matching(context: MethodContext, wanted: Static<typeof filter>): Promise<readonly FlatCall[]> {
  const [first, last] = [await knownBlock(context, wanted.fromBlock), await knownBlock(context, wanted.toBlock)];
  if (first.number > last.number) throw new RpcError(rpcCodes.invalidParameters, 'invalid block range');
  if (last.number - first.number >= most.blocks)
    throw new RpcError(rpcCodes.invalidParameters, `block range too large, at most ${most.blocks} blocks`);
  const { after = 0, count = Infinity } = wanted;
  const matches = matcher(wanted);
  const results: FlatCall[] = [];
  let [passed, bytes] = [0, 0];
  for (const head of await context.blocks.between(first.number, last.number)) {
    if (results.length >= count) break;
    for (const one of await callsOf(context, head)) {
      if (!matches(one)) continue;
      passed += 1;
      if (passed <= after) continue;
      if (results.length >= count) break;
      bytes += dataBytes(one);
      if (results.push(one) > most.calls) throw exceeded(`${most.calls} results`);
      if (bytes > most.dataBytes) throw exceeded(`${most.dataBytes} bytes of data`);
    }
  }
  return results;
}

const dataBytes = ({ action, result }: FlatCall): number =>
  ((action['input'] ?? action['init'] ?? '').length + (result?.['output'] ?? result?.['code'] ?? '').length) / 2;

const exceeded = (bound: string): RpcError =>
  new RpcError(rpcCodes.invalidParameters, `query returned more than ${bound}; search fewer blocks, or use count`);

/** Methods that show the calls of transactions as OpenEthereum did. */
export const traceMethods: readonly Method[] = [
  method({
    name: 'trace_block',
    namespace: 'trace',
    summary: 'The calls of all transactions of a block',
    params: [{ name: 'block', schema: blockId }],
    result: calls,
    handler: async (context, id) => {
      const head = await blockOf(context, id);
      return head ? await callsOf(context, head) : null;
    },
  }),
  method({
    name: 'trace_transaction',
    namespace: 'trace',
    summary: 'The calls of a transaction',
    params: [ofTransaction],
    result: calls,
    handler: callsOfTransaction,
  }),
  method({
    name: 'trace_get',
    namespace: 'trace',
    summary: 'One call of a transaction, by its position in those around it',
    params: [ofTransaction, { name: 'trace address', schema: Type.Array(quantity) }],
    result: Type.Union([Type.Null(), call]),
    handler: async (context, wanted, position) => {
      const path = position.map(Number).join();
      const all = await callsOfTransaction(context, wanted);
      return all?.find(({ traceAddress }) => traceAddress.join() === path) ?? null;
    },
  }),
  method({
    name: 'trace_filter',
    namespace: 'trace',
    summary: `The calls from or to some addresses, in ${most.blocks} blocks at most`,
    params: [{ name: 'filter', schema: filter }],
    result: Type.Array(call),
    handler: matching,
  }),
];
