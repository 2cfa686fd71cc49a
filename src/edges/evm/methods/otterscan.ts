import { Type } from 'typebox';
import type { BlockHead } from '../chain/chain-blocks.ts';
import { blockForm, headForm, quantity as hex } from '../executor/block-forms.ts';
import type { CallFrame } from '../executor/call-frames.ts';
import { address, blockId, bytes, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { stateBlock } from './block-of.ts';
import { traces } from './debug.ts';

/** Level of the interface that Otterscan checks first. */
const apiLevel = 8;
const mostOnPage = 100;

/** A number as Otterscan sends it: plain, or in hex. */
export const plainNumber = Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), quantity], {
  description: 'Number, plain or in hex digits',
});
/** Items on a page. */
export const pageSize = { name: 'page size', schema: Type.Integer({ minimum: 1, maximum: mostOnPage }) } as const;

const ofTransaction = { name: 'transaction hash', schema: hash } as const;
const number = { name: 'block', schema: plainNumber } as const;
const details = Type.Union([
  Type.Null(),
  Type.Object({
    block: Type.Object({ hash, number: quantity }),
    issuance: Type.Object({ issuance: quantity }),
    totalFees: quantity,
  }),
]);
const operation = Type.Object({ type: Type.Integer(), from: address, to: address, value: quantity });

/** A call within a transaction, in the order of their starts; `depth` 0 is the transaction itself. */
type FlatFrame = Readonly<{ frame: CallFrame; depth: number }>;

/** The calls of a transaction. Fails where the chain has no such transaction. */
async function framesOf(context: MethodContext, wanted: string): Promise<readonly FlatFrame[]> {
  const hit = await context.blocks.ofTransaction(wanted);
  if (!hit) throw new RpcError(rpcCodes.server, 'transaction not found');
  const [trace] = await traces(context, hit.head, { tracer: 'callTracer' }, hit.index);
  return flattened(trace?.result as CallFrame, 0);
}

/** A frame and all within it. */
export function flattened(frame: CallFrame, depth: number): readonly FlatFrame[] {
  return [{ frame, depth }, ...(frame.calls ?? []).flatMap((inner) => flattened(inner, depth + 1))];
}

const operationTypes: Readonly<Record<string, number>> = { CALL: 0, SELFDESTRUCT: 1, CREATE: 2, CREATE2: 3 };

/** Where coins went and contracts came from within a transaction, by calls that did not fail. */
function operationsOf(frames: readonly FlatFrame[]): readonly unknown[] {
  return frames
    .filter(({ frame, depth }) => depth > 0 && frame.error === undefined && frame.type in operationTypes)
    .filter(({ frame: { type, value } }) => type !== 'CALL' || BigInt(value ?? 0) > 0n)
    .map(({ frame: { type, from, to, value } }) => ({ type: operationTypes[type], from, to, value: value ?? '0x0' }));
}

function traceEntry({ frame, depth }: FlatFrame): Readonly<Record<string, unknown>> {
  const { type, from, to, value, input, output } = frame;
  return { type, depth, from, to: to ?? null, value: value ?? null, input, output: output ?? '0x' };
}

/** A block without what it holds, and its fees; nothing is issued for it. */
async function detailsOf({ blocks }: MethodContext, head: BlockHead | undefined): Promise<unknown> {
  if (!head) return null;
  const { transactions } = await blocks.outline(head);
  const fees = transactions.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + gasUsed * effectiveGasPrice, 0n);
  const block = {
    ...headForm(head.fields, head.hash),
    size: hex(head.sizeBytes),
    logsBloom: null,
    transactionCount: head.transactions,
    uncles: [],
  };
  return { block, issuance: { blockReward: '0x0', uncleReward: '0x0', issuance: '0x0' }, totalFees: hex(fees) };
}

const cutInput = 10;

/** A page of a block's transactions, the latest first page last; inputs are cut to the selector, logs left out. */
async function transactionsOf(context: MethodContext, at: bigint, page: number, size: number): Promise<unknown> {
  const { blocks } = context;
  const head = await blocks.byNumber(at);
  if (!head) return null;
  const { block } = await blocks.body(head);
  const full = blockForm(block, true);
  const all = full['transactions'] as readonly Readonly<Record<string, unknown>>[];
  const end = Math.max(0, all.length - page * size);
  const start = Math.max(0, end - size);
  const receipts = (await blocks.receiptForms(head)).slice(start, end);
  return {
    fullblock: {
      ...full,
      logsBloom: null,
      transactionCount: all.length,
      transactions: all.slice(start, end).map((one) => ({ ...one, input: String(one['input']).slice(0, cutInput) })),
    },
    receipts: receipts.map((receipt) => ({ ...receipt, logs: null, logsBloom: null })),
  };
}

/** Methods that Otterscan requests of a block or a transaction. */
export const otterscanMethods: readonly Method[] = [
  method({
    name: 'ots_getApiLevel',
    namespace: 'ots',
    summary: 'Level of this interface',
    params: [],
    result: Type.Integer(),
    handler: () => apiLevel,
  }),
  method({
    name: 'erigon_getHeaderByNumber',
    namespace: 'ots',
    summary: 'The header of a block; Otterscan serves no node that lacks this method',
    params: [number],
    result: Type.Union([Type.Null(), Type.Object({ hash, number: quantity, parentHash: hash })]),
    handler: async ({ blocks }, at) => {
      const head = await blocks.byNumber(BigInt(at));
      return head ? headForm(head.fields, head.hash) : null;
    },
  }),
  method({
    name: 'ots_hasCode',
    namespace: 'ots',
    summary: 'Whether an account is a contract',
    params: [
      { name: 'address', schema: address },
      { name: 'block', schema: Type.Union([Type.Integer({ minimum: 0 }), blockId]), optional: true },
    ],
    result: Type.Boolean(),
    handler: async (context, account, id) => {
      const { header } = await stateBlock(context, typeof id === 'number' ? hex(id) : id);
      return (await context.reads.read('code', { at: header, address: account })).length > 0;
    },
  }),
  method({
    name: 'ots_getBlockDetails',
    namespace: 'ots',
    summary: 'A block without what it holds, and its fees',
    params: [number],
    result: details,
    handler: async (context, at) => await detailsOf(context, await context.blocks.byNumber(BigInt(at))),
  }),
  method({
    name: 'ots_getBlockDetailsByHash',
    namespace: 'ots',
    summary: 'A block without what it holds, and its fees',
    params: [{ name: 'block hash', schema: hash }],
    result: details,
    handler: async (context, id) => await detailsOf(context, await context.blocks.byHash(id)),
  }),
  method({
    name: 'ots_getBlockTransactions',
    namespace: 'ots',
    summary: 'A page of the transactions of a block, from its end',
    params: [number, { name: 'page', schema: Type.Integer({ minimum: 0, maximum: 1_000_000 }) }, pageSize],
    result: Type.Union([
      Type.Null(),
      Type.Object({ fullblock: Type.Object({ hash }), receipts: Type.Array(Type.Object({ transactionHash: hash })) }),
    ]),
    handler: async (context, at, page, size) => await transactionsOf(context, BigInt(at), page, size),
  }),
  method({
    name: 'ots_getInternalOperations',
    namespace: 'ots',
    summary: 'Transfers, creations and destructions within a transaction',
    params: [ofTransaction],
    result: Type.Array(operation),
    handler: async (context, wanted) => operationsOf(await framesOf(context, wanted)),
  }),
  method({
    name: 'ots_getTransactionError',
    namespace: 'ots',
    summary: 'The return data of a transaction that was reverted',
    params: [ofTransaction],
    result: bytes,
    handler: async (context, wanted) => {
      const [top] = await framesOf(context, wanted);
      return top?.frame.error === undefined ? '0x' : (top.frame.output ?? '0x');
    },
  }),
  method({
    name: 'ots_traceTransaction',
    namespace: 'ots',
    summary: 'The calls of a transaction, in the order of their starts',
    params: [ofTransaction],
    result: Type.Array(Type.Object({ type: Type.String(), depth: Type.Integer(), from: address })),
    handler: async (context, wanted) => (await framesOf(context, wanted)).map(traceEntry),
  }),
];
