import { hexToBytes } from '@ethereumjs/util';
import { Type } from 'typebox';
import { passes } from '../../../kit/errors.ts';
import { wait } from '../../../kit/wait.ts';
import { LongList } from '../../json-rpc/long-list.ts';
import { RpcError } from '../../json-rpc/rpc-error.ts';
import type { Hex } from '../executor/outcome.ts';
import { formOfLog } from '../chain/log-form.ts';
import { address, blockId, bytes, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';
import { findLogs, logFilter } from './logs.ts';

const receiptSchema = Type.Object({ transactionHash: hash, blockHash: hash, cumulativeGasUsed: quantity });

async function receiptOf({ blocks }: MethodContext, wanted: string): Promise<unknown> {
  const match = await blocks.ofTransaction(wanted);
  const [receipt] = match ? await blocks.receiptForms(match.head, match.index) : [];
  return receipt;
}

/** How soon a receipt is read again where no block is reported. */
const againMs = 1_000;
/** Less than a request may take. */
const longestWaitMs = 25_000;
/** Code of EIP-7966: no block holds the transaction yet; the error's data is its hash. */
const notYet = 4;

/** `wanted` is in milliseconds, as a number or in hex; 0 counts as left out. */
async function sendAndWait(context: MethodContext, raw: Hex, wanted: Hex | number = 0): Promise<unknown> {
  const sent = await context.pool.submit(hexToBytes(raw));
  const receipt = await receiptWithin(context, sent, Math.min(Number(wanted) || longestWaitMs, longestWaitMs));
  if (receipt === undefined) throw new RpcError(notYet, 'the transaction is in no block yet', sent);
  return receipt;
}

/** The receipt of a transaction, read after each block until one holds it, its client has gone or the time is over. */
async function receiptWithin(context: MethodContext, sent: string, withinMs: number): Promise<unknown> {
  const { news, signal } = context;
  const deadline = performance.now() + withinMs;
  let next = new AbortController();
  const stop = news.onBlock(() => next.abort());
  try {
    while (!signal.aborted) {
      next = new AbortController();
      const receipt = await receiptOf(context, sent).catch(unlessAway);
      const leftMs = deadline - performance.now();
      if (receipt !== undefined || leftMs <= 0) return receipt;
      await wait(Math.min(againMs, leftMs), AbortSignal.any([signal, next.signal]));
    }
    return undefined;
  } finally {
    stop();
  }
}

/** A store that is away for now says nothing about a transaction that was taken in. */
function unlessAway(caught: unknown): undefined {
  if (!passes(caught)) throw caught;
}

/** Methods that show the results of transactions. */
export const receiptMethods: readonly Method[] = [
  method({
    name: 'eth_getTransactionReceipt',
    namespace: 'eth',
    summary: 'What came of a transaction',
    params: [{ name: 'transaction hash', schema: hash }],
    result: Type.Union([Type.Null(), receiptSchema]),
    handler: receiptOf,
  }),
  method({
    name: 'eth_sendRawTransactionSync',
    namespace: 'eth',
    summary: 'Takes in a signed transaction and says what came of it once a block holds it',
    params: [
      { name: 'transaction', schema: bytes },
      { name: 'milliseconds', schema: Type.Union([quantity, Type.Integer({ minimum: 0 })]), optional: true },
    ],
    result: receiptSchema,
    handler: sendAndWait,
  }),
  method({
    name: 'eth_getBlockReceipts',
    namespace: 'eth',
    summary: 'What came of all transactions of a block',
    params: [{ name: 'block', schema: blockId }],
    result: Type.Union([Type.Null(), Type.Array(receiptSchema)]),
    handler: async (context, id) => {
      const hit = await blockOf(context, id);
      return hit && (await context.blocks.receiptForms(hit));
    },
  }),
  method({
    name: 'eth_getLogs',
    namespace: 'eth',
    summary: 'Logs by block, address and topics',
    params: [{ name: 'filter', schema: logFilter }],
    result: Type.Array(Type.Object({ address, topics: Type.Array(hash) })),
    handler: async (context, filter) => new LongList(await findLogs(context, filter), formOfLog),
  }),
];
