import { Type } from 'typebox';
import type { BlockHead } from '../chain/chain-blocks.ts';
import type { FlatCall } from '../executor/tracers/flat-calls.ts';
import type { PrestateAccount, StateDifference } from '../executor/tracers/prestate.ts';
import { blockId, hash } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';
import { traces } from './debug.ts';

/** What a replay shows is made of two traces. */
export const replayTraces = {
  tracer: 'muxTracer',
  tracerConfig: {
    flatCallTracer: { convertParityErrors: true, ofMachine: true },
    prestateTracer: { diffMode: true },
  },
} as const;

/** What is wanted of a replay. */
export const kinds = { name: 'kinds', schema: Type.Array(Type.Enum(['trace', 'stateDiff'])) } as const;
/** A replay, as OpenEthereum shows it. */
export const replayed = Type.Object({
  output: Type.String(),
  stateDiff: Type.Union([Type.Null(), Type.Record(Type.String(), Type.Unknown())]),
  trace: Type.Array(Type.Object({ type: Type.String(), traceAddress: Type.Array(Type.Integer()) })),
  vmTrace: Type.Null(),
});

/** A value as OpenEthereum shows its change: unchanged, new, gone, or another one. */
type Change = '=' | Readonly<{ '+': unknown }> | Readonly<{ '-': unknown }> | Readonly<{ '*': object }>;

const zero = `0x${'0'.repeat(64)}` as const;
const quantity = (value: number): string => `0x${value.toString(16)}`;

/** What changed in one account; `pre` is absent where it is new, `post` where it is gone. */
function accountChange(
  pre: PrestateAccount | undefined,
  post: PrestateAccount | undefined,
): Readonly<Record<string, unknown>> {
  const change = (from: unknown, to: unknown): Change => {
    if (!pre) return { '+': to };
    if (!post) return { '-': from };
    return from === to ? '=' : { '*': { from, to } };
  };
  const [before, after] = [pre ?? {}, post ?? {}];
  const slots = Object.keys({ ...before.storage, ...after.storage }).toSorted() as (keyof typeof before.storage)[];
  const { balance = '0x0', nonce = 0, code = '0x' } = before;
  return {
    balance: change(balance, after.balance ?? balance),
    code: change(code, after.code ?? code),
    nonce: change(quantity(nonce), quantity(after.nonce ?? nonce)),
    storage: Object.fromEntries(
      slots.map((slot) => [slot, change(before.storage?.[slot] ?? zero, after.storage?.[slot] ?? zero)]),
    ),
  };
}

/** Calls and changes of a block's transactions, or of one, each as far as it is wanted. */
async function replays(
  context: MethodContext,
  head: BlockHead,
  options: Readonly<{ wanted: readonly string[]; index?: number }>,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const all = await traces(context, head, replayTraces, options.index);
  return all.map(({ txHash, result }) => ({ ...replayOf(result, options.wanted), transactionHash: txHash }));
}

/** The result of `replayTraces` in the form of a replay, as far as it is wanted. */
export function replayOf(result: unknown, wanted: readonly string[]) {
  const { flatCallTracer: calls, prestateTracer } = result as Readonly<{
    flatCallTracer: readonly FlatCall[];
    prestateTracer: StateDifference;
  }>;
  const { pre, post } = prestateTracer;
  const changed = Object.keys({ ...pre, ...post }).toSorted();
  const shown = calls.map(({ action, error, result: made = null, subtraces, traceAddress, type }) => ({
    action,
    ...(error !== undefined && { error }),
    result: made,
    subtraces,
    traceAddress,
    type,
  }));
  const top = calls[0]?.result;
  return {
    output: top?.['output'] ?? top?.['code'] ?? '0x',
    stateDiff: wanted.includes('stateDiff')
      ? Object.fromEntries(changed.map((name) => [name, accountChange(pre[name], post[name])]))
      : null,
    trace: wanted.includes('trace') ? shown : [],
    vmTrace: null,
  };
}

/** Methods that execute transactions again, and show their calls and what they changed as OpenEthereum did. */
export const replayMethods: readonly Method[] = [
  method({
    name: 'trace_replayTransaction',
    namespace: 'trace',
    summary: 'The calls of a transaction and what it changed; there is no `vmTrace`',
    params: [{ name: 'transaction hash', schema: hash }, kinds],
    result: Type.Union([Type.Null(), replayed]),
    handler: async (context, wanted, of) => {
      const hit = await context.blocks.ofTransaction(wanted);
      if (!hit) return null;
      const [one] = await replays(context, hit.head, { wanted: of, index: hit.index });
      const { transactionHash: _, ...shown } = one ?? {};
      return shown;
    },
  }),
  method({
    name: 'trace_replayBlockTransactions',
    namespace: 'trace',
    summary: 'The calls of the transactions of a block and what they changed; there is no `vmTrace`',
    params: [{ name: 'block', schema: blockId }, kinds],
    result: Type.Union([Type.Null(), Type.Array(replayed)]),
    handler: async (context, id, of) => {
      const head = await blockOf(context, id);
      if (!head) return null;
      return head.transactions === 0 ? [] : await replays(context, head, { wanted: of });
    },
  }),
];
