import { hexToBytes } from '@ethereumjs/util';
import { Type } from 'typebox';
import type { BlockHead } from '../chain/chain-blocks.ts';
import { encodedReceipt } from '../chain/read-receipts.ts';
import { readBlock } from '../executor/blocks.ts';
import type { Forks } from '../executor/forks.ts';
import type { Replayed } from '../executor/replay.ts';
import { type TraceOptions, tracerNames } from '../executor/trace.ts';
import {
  address,
  blockId,
  blockOverrides,
  bytes,
  callRequest,
  hash,
  slotKey as key,
  stateOverrides,
} from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { knownBlock, requireState, stateBlock } from './block-of.ts';
import { hexOf } from '../executor/outcome.ts';

const of = { name: 'block', schema: blockId } as const;
const optional = Type.Optional;
/** Options of all tracers; each takes its own of them. */
const tracerConfig = {
  onlyTopCall: optional(Type.Boolean()),
  withLog: optional(Type.Boolean()),
  convertParityErrors: optional(Type.Boolean()),
  includePrecompiles: optional(Type.Boolean()),
  diffMode: optional(Type.Boolean()),
  disableCode: optional(Type.Boolean()),
  disableStorage: optional(Type.Boolean()),
  includeEmpty: optional(Type.Boolean()),
};
const traceOptions = {
  disableStack: optional(Type.Boolean()),
  disableStorage: optional(Type.Boolean()),
  enableMemory: optional(Type.Boolean()),
  enableReturnData: optional(Type.Boolean()),
  limit: optional(Type.Integer({ minimum: 0 })),
  tracer: optional(Type.Enum([...tracerNames])),
  tracerConfig: optional(
    Type.Object({
      ...tracerConfig,
      ...Object.fromEntries(tracerNames.map((name) => [name, optional(Type.Object(tracerConfig))])),
    }),
  ),
};
const options = { name: 'options', schema: Type.Object(traceOptions), optional: true } as const;
const callOptions = {
  name: 'options',
  schema: Type.Object({
    ...traceOptions,
    stateOverrides: optional(stateOverrides),
    blockOverrides: optional(blockOverrides),
  }),
  optional: true,
} as const;
/** The most slots of one answer. */
const mostSlots = 1024;
const traced = Type.Array(Type.Object({ txHash: hash, result: Type.Unknown() }));

type Traces = readonly Readonly<{ txHash: string; result: unknown }>[];

/** What the transactions of a block did, or one of them. Fails where the state before it is forgotten. */
export async function traces(
  context: MethodContext,
  head: BlockHead,
  wanted: TraceOptions = {},
  index?: number,
): Promise<Traces> {
  return await context.reads.read('trace', { ...(await replayed(context, head)), index, options: wanted });
}

/** What a block is executed again from. Fails where the state before it is forgotten. */
async function replayed(context: MethodContext, head: BlockHead): Promise<Replayed> {
  const { blocks } = context;
  const parent = await blocks.byNumber(head.number - 1n);
  if (!parent) throw new RpcError(rpcCodes.server, 'genesis is not traceable');
  await requireState(context, parent);
  const { rlp: block, opening } = await blocks.body(head);
  return { parent: parent.header, block, opening };
}

/** The same of a block by its bytes; one that the chain does not have runs on the state after its parent. */
async function tracesOf(context: MethodContext, rlp: Uint8Array, wanted?: TraceOptions): Promise<Traces> {
  const block = readable(rlp, context.forks);
  const own = await context.blocks.byHash(hexOf(block.hash()));
  if (own) return await traces(context, own, wanted);
  const parent = await context.blocks.byHash(hexOf(block.header.parentHash));
  if (!parent) throw new RpcError(rpcCodes.server, `parent ${hexOf(block.header.parentHash)} not found`);
  await requireState(context, parent);
  return await context.reads.read('trace', { parent: parent.header, block: rlp, options: wanted ?? {} });
}

function readable(rlp: Uint8Array, forks: Forks): ReturnType<typeof readBlock> {
  try {
    return readBlock(rlp, forks);
  } catch {
    throw new RpcError(rpcCodes.server, 'could not decode block');
  }
}

/** Methods that show raw bytes, and what transactions did in detail. */
export const debugMethods: readonly Method[] = [
  method({
    name: 'debug_getRawBlock',
    namespace: 'debug',
    summary: 'RLP of a block',
    params: [of],
    result: bytes,
    handler: async (context, id) => hexOf((await context.blocks.body(await knownBlock(context, id))).rlp),
  }),
  method({
    name: 'debug_getRawHeader',
    namespace: 'debug',
    summary: 'RLP of a header',
    params: [of],
    result: bytes,
    handler: async (context, id) => hexOf((await knownBlock(context, id)).header),
  }),
  method({
    name: 'debug_getRawReceipts',
    namespace: 'debug',
    summary: 'Receipts of a block as its root counts them',
    params: [of],
    result: Type.Array(bytes),
    handler: async (context, id) => {
      const receipts = await context.blocks.receipts(await knownBlock(context, id));
      return receipts.map((receipt) => hexOf(encodedReceipt(receipt)));
    },
  }),
  method({
    name: 'debug_getRawTransaction',
    namespace: 'debug',
    summary: 'Bytes of a transaction',
    params: [{ name: 'transaction hash', schema: hash }],
    result: bytes,
    handler: async ({ blocks }, wanted) => {
      const match = await blocks.ofTransaction(wanted);
      const tx = match && (await blocks.body(match.head)).block.transactions[match.index];
      return tx ? hexOf(tx.serialize()) : '0x';
    },
  }),
  method({
    name: 'debug_traceBlockByNumber',
    namespace: 'debug',
    summary: 'What the transactions of a block did',
    params: [of, options],
    result: traced,
    handler: async (context, id, wanted) => await traces(context, await knownBlock(context, id), wanted),
  }),
  method({
    name: 'debug_traceBlockByHash',
    namespace: 'debug',
    summary: 'What the transactions of a block did',
    params: [{ name: 'block hash', schema: hash }, options],
    result: traced,
    handler: async (context, id, wanted) => await traces(context, await knownBlock(context, id), wanted),
  }),
  method({
    name: 'debug_traceBlock',
    namespace: 'debug',
    summary: 'What the transactions of a block do, which follows one of this chain',
    params: [{ name: 'RLP of the block', schema: bytes }, options],
    result: traced,
    handler: async (context, rlp, wanted) => await tracesOf(context, hexToBytes(rlp), wanted),
  }),
  method({
    name: 'debug_traceTransaction',
    namespace: 'debug',
    summary: 'What a transaction did',
    params: [{ name: 'transaction hash', schema: hash }, options],
    result: Type.Unknown(),
    handler: async (context, wanted, how) => {
      const hit = await context.blocks.ofTransaction(wanted);
      if (!hit) throw new RpcError(rpcCodes.server, 'transaction not found');
      const [trace] = await traces(context, hit.head, how, hit.index);
      return trace?.result;
    },
  }),
  method({
    name: 'debug_traceCall',
    namespace: 'debug',
    summary: 'What a call does',
    params: [{ name: 'call', schema: callRequest }, { ...of, optional: true }, callOptions],
    result: Type.Unknown(),
    handler: async (context, request, id, how) => {
      const { header } = await stateBlock(context, id);
      const { stateOverrides: states, blockOverrides: block, ...wanted } = how ?? {};
      const values = { at: header, request, gasCap: context.gasCap, stateOverrides: states, blockOverrides: block };
      return await context.reads.read('traceCall', { ...values, options: wanted });
    },
  }),
  method({
    name: 'debug_storageRangeAt',
    namespace: 'debug',
    summary: 'Slots of a contract as a transaction finds them, by the hashes of their numbers; 1,024 at most',
    params: [
      of,
      { name: 'transaction index', schema: Type.Integer({ minimum: 0 }) },
      { name: 'contract', schema: address },
      { name: 'first key', schema: key },
      { name: 'most slots', schema: Type.Integer({ minimum: 0 }) },
    ],
    result: Type.Object({
      storage: Type.Record(Type.String(), Type.Object({ key: Type.Null(), value: hash })),
      nextKey: Type.Union([hash, Type.Null()]),
    }),
    handler: async (context, id, index, contract, start, most) => {
      const input = { index, address: contract, start, limit: Math.min(most, mostSlots) };
      return await context.reads.read('storageRange', {
        ...(await replayed(context, await knownBlock(context, id))),
        ...input,
      });
    },
  }),
];
