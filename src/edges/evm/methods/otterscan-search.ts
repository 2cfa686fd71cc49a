import { Type } from 'typebox';
import { receiptForm } from '../chain/block-contents.ts';
import type { BlockHead, ChainReceipt } from '../chain/chain-blocks.ts';
import { transactionForm } from '../executor/block-forms.ts';
import type { CallFrame } from '../executor/call-frames.ts';
import type { Hex } from '../executor/outcome.ts';
import { address, hash } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';
import { requireState } from './block-of.ts';
import { traces } from './debug.ts';
import { flattened, pageSize, plainNumber } from './otterscan.ts';

/** Blocks whose heads are read at once. */
const batchBlocks = 256n;
/** How long one search may take; it continues from where a page ended. */
const searchMs = 5_000;

type Match = Readonly<{ head: BlockHead; receipt: ChainReceipt }>;

/** Whether an account takes part: it sends, receives, is created, logs, or is named by a log. */
function concerns(account: string, { from, to, contractAddress, logs }: ChainReceipt): boolean {
  if ([from, to, contractAddress].includes(account as Hex)) return true;
  const word = `0x${account.slice(2).padStart(64, '0')}`;
  return logs.some(({ address: emitter, topics }) => emitter === account || topics.includes(word as Hex));
}

/** Transactions that concern an account, block by block, from one on. Fails where that takes too long. */
async function* matches(
  { blocks }: MethodContext,
  account: string,
  { from, direction }: Readonly<{ from: bigint; direction: -1n | 1n }>,
): AsyncGenerator<readonly Match[]> {
  const until = performance.now() + searchMs;
  const last = (await blocks.head()).number;
  for (let at = from; at >= 0n && at <= last; at += direction * batchBlocks) {
    const end = at + direction * (batchBlocks - 1n);
    const [low, high] = direction > 0n ? [at, end] : [end < 0n ? 0n : end, at];
    const heads = (await blocks.between(low, high)).filter(({ transactions }) => transactions > 0);
    for (const head of direction > 0n ? heads : heads.toReversed()) {
      if (performance.now() > until) throw new RpcError(rpcCodes.server, 'the search takes too long');
      const receipts = (await blocks.receipts(head)).filter((receipt) => concerns(account, receipt));
      if (receipts.length > 0) yield receipts.map((receipt) => ({ head, receipt }));
    }
  }
}

/** A page of matches, the newest first, complete blocks only; the flags report what lies beyond its ends. */
async function search(
  context: MethodContext,
  wanted: string,
  options: Readonly<{ from: bigint; direction: -1n | 1n; size: number; isFirst: boolean }>,
): Promise<unknown> {
  const { direction, size, isFirst } = options;
  const collected: Match[] = [];
  let isComplete = true;
  for await (const ofBlock of matches(context, wanted.toLowerCase(), options)) {
    if (collected.length >= size) {
      isComplete = false;
      break;
    }
    collected.push(...(direction > 0n ? ofBlock : ofBlock.toReversed()));
  }
  const sorted = direction > 0n ? collected.toReversed() : collected;
  const [firstPage, lastPage] = direction > 0n ? [isComplete, isFirst] : [isFirst, isComplete];
  return {
    txs: await Promise.all(sorted.map(async (match) => await formOf(context, match))),
    receipts: sorted.map(({ head, receipt }) => ({
      ...receiptForm(head, receipt),
      timestamp: Number(head.fields.timestamp),
    })),
    firstPage,
    lastPage,
  };
}

async function formOf({ blocks }: MethodContext, { head, receipt: { index } }: Match): Promise<unknown> {
  const { number: blockNumber, hash: blockHash } = head;
  const { timestamp, baseFeePerGas: baseFee } = head.fields;
  const tx = (await blocks.body(head)).block.transactions[index];
  return tx ? transactionForm(tx, { blockHash, blockNumber, timestamp, index, baseFee }) : null;
}

/** The first block at whose end something holds that stays so; undefined where it does not hold now. */
async function firstBlockWhere(
  context: MethodContext,
  holds: (head: BlockHead) => Promise<boolean>,
): Promise<BlockHead | undefined> {
  const at = async (number: bigint): Promise<BlockHead> => {
    const head = await context.blocks.byNumber(number);
    if (!head) throw new RpcError(rpcCodes.server, 'header not found');
    await requireState(context, head);
    return head;
  };
  const head = await context.blocks.head();
  if (!(await holds(head))) return undefined;
  let [low, high] = [0n, head.number];
  while (low < high) {
    const middle = (low + high) / 2n;
    if (await holds(await at(middle))) high = middle;
    else low = middle + 1n;
  }
  return await at(high);
}

async function bySenderAndNonce(context: MethodContext, sender: Hex, nonce: bigint): Promise<string | null> {
  const head = await firstBlockWhere(
    context,
    async ({ header }) => (await context.reads.read('account', { at: header, address: sender })).nonce > nonce,
  );
  const { transactions = [] } = head ? (await context.blocks.body(head)).block : {};
  const tx = transactions.find((one) => one.nonce === nonce && one.getSenderAddress().toString() === sender);
  return tx ? `0x${Buffer.from(tx.hash()).toString('hex')}` : null;
}

async function creatorOf(context: MethodContext, contract: Hex): Promise<unknown> {
  const head = await firstBlockWhere(
    context,
    async ({ header }) => (await context.reads.read('code', { at: header, address: contract })).length > 0,
  );
  if (!head || head.number === 0n) return null;
  for (const { txHash, result } of await traces(context, head, { tracer: 'callTracer' })) {
    const frames = flattened(result as CallFrame, 0);
    const creation = frames.find(({ frame: { type, to } }) => type.startsWith('CREATE') && to === contract);
    if (creation) return { hash: txHash, creator: creation.frame.from };
  }
  return null;
}

const account = { name: 'address', schema: address } as const;
const block = { name: 'block', schema: plainNumber } as const;
const page = Type.Object({
  txs: Type.Array(Type.Object({ hash })),
  receipts: Type.Array(Type.Object({ transactionHash: hash })),
  firstPage: Type.Boolean(),
  lastPage: Type.Boolean(),
});

/** Methods by which Otterscan searches the chain. */
export const searchMethods: readonly Method[] = [
  method({
    name: 'ots_searchTransactionsBefore',
    namespace: 'ots',
    summary:
      'Transactions that concern an account before a block, or the latest for 0; calls within others do not count',
    params: [account, block, pageSize],
    result: page,
    handler: async (context, wanted, before, size) => {
      const at = BigInt(before);
      const from = at === 0n ? (await context.blocks.head()).number : at - 1n;
      return await search(context, wanted, { from, direction: -1n, size, isFirst: at === 0n });
    },
  }),
  method({
    name: 'ots_searchTransactionsAfter',
    namespace: 'ots',
    summary: 'Transactions that concern an account after a block, or the first for 0; calls within others do not count',
    params: [account, block, pageSize],
    result: page,
    handler: async (context, wanted, after, size) => {
      const at = BigInt(after);
      return await search(context, wanted, { from: at + 1n, direction: 1n, size, isFirst: at === 0n });
    },
  }),
  method({
    name: 'ots_getTransactionBySenderAndNonce',
    namespace: 'ots',
    summary: 'The transaction of a sender with a nonce',
    params: [account, { name: 'nonce', schema: plainNumber }],
    result: Type.Union([Type.Null(), hash]),
    handler: async (context, sender, nonce) =>
      await bySenderAndNonce(context, sender.toLowerCase() as Hex, BigInt(nonce)),
  }),
  method({
    name: 'ots_getContractCreator',
    namespace: 'ots',
    summary: 'The transaction that created a contract, and who called for it',
    params: [account],
    result: Type.Union([Type.Null(), Type.Object({ hash, creator: address })]),
    handler: async (context, contract) => await creatorOf(context, contract.toLowerCase() as Hex),
  }),
];
