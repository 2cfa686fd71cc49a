import { Type } from 'typebox';
import { blockForm, blockFormOf, quantity as hex, transactionForm } from '../executor/block-forms.ts';
import type { BlockHead } from '../chain/chain-blocks.ts';
import { blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';

const block = Type.Union([Type.Null(), Type.Object({ hash, number: quantity, parentHash: hash })]);
const transaction = Type.Union([Type.Null(), Type.Object({ hash, nonce: quantity })]);
const complete = { name: 'whole transactions', schema: Type.Boolean() } as const;
const ofHash = { name: 'block hash', schema: hash } as const;
const ofNumber = { name: 'block', schema: blockId } as const;
const position = { name: 'transaction index', schema: quantity } as const;

async function shown({ blocks }: MethodContext, head: BlockHead | undefined, full: boolean): Promise<unknown> {
  if (!head) return null;
  if (full && head.transactions > 0) return blockForm((await blocks.body(head)).block, true);
  const { transactions, ...outline } = await blocks.outline(head);
  const hashes = transactions.map(({ hash: one }) => one);
  return blockFormOf(head.fields, head.hash, { ...outline, sizeBytes: head.sizeBytes, transactions: hashes });
}

const count = (head: BlockHead | undefined): unknown => head && hex(head.transactions);

async function transactionAt({ blocks }: MethodContext, head: BlockHead | undefined, index: number): Promise<unknown> {
  const tx = head && index < head.transactions ? (await blocks.body(head)).block.transactions[index] : undefined;
  if (!head || !tx) return null;
  const { number: blockNumber, hash: blockHash } = head;
  const { timestamp, baseFeePerGas: baseFee } = head.fields;
  return transactionForm(tx, { blockHash, blockNumber, timestamp, index, baseFee });
}

async function transactionOf(context: MethodContext, wanted: string): Promise<unknown> {
  const { blocks, pool } = context;
  const match = await blocks.ofTransaction(wanted);
  if (match) return await transactionAt(context, match.head, match.index);
  const pending = pool.get(wanted.toLowerCase());
  return pending && transactionForm(pending);
}

/** Methods that show blocks and transactions. */
export const blockMethods: readonly Method[] = [
  method({
    name: 'eth_blockNumber',
    namespace: 'eth',
    summary: 'Number of the latest block',
    params: [],
    result: quantity,
    handler: async ({ blocks }) => hex((await blocks.head()).number),
  }),
  method({
    name: 'eth_getBlockByHash',
    namespace: 'eth',
    summary: 'A block by its hash',
    params: [ofHash, complete],
    result: block,
    handler: async (context, id, full) => await shown(context, await blockOf(context, id), full),
  }),
  method({
    name: 'eth_getBlockByNumber',
    namespace: 'eth',
    summary: 'A block by its number',
    params: [ofNumber, complete],
    result: block,
    handler: async (context, id, full) => await shown(context, await blockOf(context, id), full),
  }),
  method({
    name: 'eth_getBlockTransactionCountByHash',
    namespace: 'eth',
    summary: 'How many transactions a block has',
    params: [ofHash],
    result: Type.Union([Type.Null(), quantity]),
    handler: async (context, id) => count(await blockOf(context, id)),
  }),
  method({
    name: 'eth_getBlockTransactionCountByNumber',
    namespace: 'eth',
    summary: 'How many transactions a block has',
    params: [ofNumber],
    result: Type.Union([Type.Null(), quantity]),
    handler: async (context, id) => count(await blockOf(context, id)),
  }),
  method({
    name: 'eth_getTransactionByHash',
    namespace: 'eth',
    summary: 'A transaction, sealed or waiting',
    params: [{ name: 'transaction hash', schema: hash }],
    result: transaction,
    handler: transactionOf,
  }),
  method({
    name: 'eth_getTransactionByBlockHashAndIndex',
    namespace: 'eth',
    summary: 'A transaction by its place',
    params: [ofHash, position],
    result: transaction,
    handler: async (context, id, index) => await transactionAt(context, await blockOf(context, id), Number(index)),
  }),
  method({
    name: 'eth_getTransactionByBlockNumberAndIndex',
    namespace: 'eth',
    summary: 'A transaction by its place',
    params: [ofNumber, position],
    result: transaction,
    handler: async (context, id, index) => await transactionAt(context, await blockOf(context, id), Number(index)),
  }),
];
