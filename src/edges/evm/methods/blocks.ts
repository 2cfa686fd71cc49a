import { Type } from 'typebox';
import { blockForm, quantity as hex, transactionForm } from '../executor/block-forms.ts';
import type { ChainBlock } from '../chain/chain-blocks.ts';
import { blockId, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';

const block = Type.Union([Type.Null(), Type.Object({ hash, number: quantity, parentHash: hash })]);
const transaction = Type.Union([Type.Null(), Type.Object({ hash, nonce: quantity })]);
const whole = { name: 'whole transactions', schema: Type.Boolean() } as const;
const ofHash = { name: 'block hash', schema: hash } as const;
const ofNumber = { name: 'block', schema: blockId } as const;
const place = { name: 'transaction index', schema: quantity } as const;

const shown = (found: ChainBlock | undefined, full: boolean): unknown => found && blockForm(found.block, full);
const count = (found: ChainBlock | undefined): unknown => found && hex(found.executed.length);

function transactionAt(found: ChainBlock | undefined, index: number): unknown {
  const tx = found?.block.transactions[index];
  if (!found || !tx) return null;
  const { number: blockNumber, block: of } = found;
  const { timestamp, baseFeePerGas: baseFee } = of.header;
  return transactionForm(tx, { blockHash: `0x${found.hash.slice(2)}`, blockNumber, timestamp, index, baseFee });
}

async function transactionOf({ blocks, pool }: MethodContext, wanted: string): Promise<unknown> {
  const found = await blocks.ofTransaction(wanted);
  if (found) return transactionAt(found.block, found.index);
  const pending = pool.pending().find((tx) => `0x${Buffer.from(tx.hash()).toString('hex')}` === wanted.toLowerCase());
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
    params: [ofHash, whole],
    result: block,
    handler: async (context, id, full) => shown(await blockOf(context, id), full),
  }),
  method({
    name: 'eth_getBlockByNumber',
    namespace: 'eth',
    summary: 'A block by its number',
    params: [ofNumber, whole],
    result: block,
    handler: async (context, id, full) => shown(await blockOf(context, id), full),
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
    params: [ofHash, place],
    result: transaction,
    handler: async (context, id, index) => transactionAt(await blockOf(context, id), Number(index)),
  }),
  method({
    name: 'eth_getTransactionByBlockNumberAndIndex',
    namespace: 'eth',
    summary: 'A transaction by its place',
    params: [ofNumber, place],
    result: transaction,
    handler: async (context, id, index) => transactionAt(await blockOf(context, id), Number(index)),
  }),
];
