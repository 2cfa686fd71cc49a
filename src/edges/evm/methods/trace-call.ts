import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import type { TypedTransaction } from '@ethereumjs/tx';
import { Type } from 'typebox';
import type { CallRequest } from '../executor/call-request.ts';
import { readTransaction } from '../pool/read-transaction.ts';
import { blockId, bytes, callRequest } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { stateBlock } from './block-of.ts';
import { kinds, replayed, replayOf, replayTraces } from './trace-replay.ts';

type Wanted = Readonly<{ request: CallRequest; wanted: readonly string[] }>;

const at = { name: 'block', schema: blockId, optional: true } as const;
/** Most calls of one request. */
const mostCalls = 100;

/** What calls do and change, each on what those before it left, at the end of a block. */
async function replaysOf(
  context: MethodContext,
  id: Parameters<typeof stateBlock>[1],
  calls: readonly Wanted[],
): Promise<readonly ReturnType<typeof replayOf>[]> {
  const { header } = await stateBlock(context, id);
  const traced = calls.map(({ request }) => ({ request, options: replayTraces }));
  const results = await context.reads.read('traceCalls', { at: header, gasCap: context.gasCap, calls: traced });
  return calls.map(({ wanted }, n) => replayOf(results[n], wanted));
}

function requestOf(transaction: TypedTransaction): CallRequest {
  const { gasLimit: gas, data: input, to, value, ...others } = transaction.toJSON() as Readonly<Record<string, never>>;
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, accessList, authorizationList } = others;
  const fees = maxFeePerGas === undefined ? { gasPrice } : { maxFeePerGas, maxPriorityFeePerGas };
  const from = bytesToHex(transaction.getSenderAddress().bytes);
  return { from, to, gas, value, input, ...fees, accessList, authorizationList };
}

/** Methods that show what calls would do, as OpenEthereum did. */
export const traceCallMethods: readonly Method[] = [
  method({
    name: 'trace_call',
    namespace: 'trace',
    summary: 'The calls within a call and what it would change; there is no `vmTrace`',
    params: [{ name: 'call', schema: callRequest }, kinds, at],
    result: replayed,
    handler: async (context, request, wanted, id) => (await replaysOf(context, id, [{ request, wanted }]))[0],
  }),
  method({
    name: 'trace_callMany',
    namespace: 'trace',
    summary: 'The same of calls of which each runs on what those before it left; 100 at most',
    params: [
      { name: 'calls', schema: Type.Array(Type.Tuple([callRequest, kinds.schema]), { maxItems: mostCalls }) },
      at,
    ],
    result: Type.Array(replayed),
    handler: async (context, calls, id) =>
      await replaysOf(
        context,
        id,
        calls.map(([request, wanted]) => ({ request, wanted })),
      ),
  }),
  method({
    name: 'trace_rawTransaction',
    namespace: 'trace',
    summary: 'The same of a signed transaction, which is not sent',
    params: [{ name: 'transaction', schema: bytes }, kinds],
    result: replayed,
    handler: async (context, raw, wanted) => {
      const { fields } = await stateBlock(context);
      const { transaction } = readTransaction(hexToBytes(raw), { common: context.forks.at(fields) }, Date.now());
      return (await replaysOf(context, undefined, [{ request: requestOf(transaction), wanted }]))[0];
    },
  }),
];
