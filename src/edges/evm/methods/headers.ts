import { bytesToHex } from '@ethereumjs/util';
import { Type } from 'typebox';
import type { BlockHead } from '../chain/chain-blocks.ts';
import { headForm, quantity as hex } from '../executor/block-forms.ts';
import { blockId, bytes, hash, quantity } from '../rpc/forms.ts';
import { type Method, method, type MethodContext } from '../rpc/registry.ts';
import { blockOf } from './block-of.ts';

const header = Type.Union([Type.Null(), Type.Object({ hash, number: quantity, parentHash: hash })]);
const ofHash = { name: 'block hash', schema: hash } as const;
const ofNumber = { name: 'block', schema: blockId } as const;
const position = { name: 'index', schema: quantity } as const;
const uncles = Type.Union([Type.Null(), quantity]);

const shown = (head: BlockHead | undefined): unknown => head && headForm(head.fields, head.hash);

/** Proof of stake has no uncles: a block that is there has none of them. */
const uncleCount = (head: BlockHead | undefined): unknown => head && hex(0);

/** The bytes of a sealed transaction; `0x` where there is none, as go-ethereum answers. */
async function rawOf({ blocks }: MethodContext, head: BlockHead | undefined, index: number): Promise<unknown> {
  const tx = head && index < head.transactions ? (await blocks.body(head)).block.transactions[index] : undefined;
  return tx ? bytesToHex(tx.serialize()) : '0x';
}

async function rawByHash(context: MethodContext, wanted: string): Promise<unknown> {
  const hit = await context.blocks.ofTransaction(wanted);
  if (hit) return await rawOf(context, hit.head, hit.index);
  const pending = context.pool.get(wanted.toLowerCase());
  return pending ? bytesToHex(pending.serialize()) : '0x';
}

/** Methods of headers, uncles and raw transactions. */
export const headerMethods: readonly Method[] = [
  method({
    name: 'eth_getHeaderByHash',
    namespace: 'eth',
    summary: 'The header of a block',
    params: [ofHash],
    result: header,
    handler: async (context, id) => shown(await blockOf(context, id)) ?? null,
  }),
  method({
    name: 'eth_getHeaderByNumber',
    namespace: 'eth',
    summary: 'The header of a block',
    params: [ofNumber],
    result: header,
    handler: async (context, id) => shown(await blockOf(context, id)) ?? null,
  }),
  method({
    name: 'eth_getUncleByBlockHashAndIndex',
    namespace: 'eth',
    summary: 'An uncle of a block; there is none',
    params: [ofHash, position],
    result: Type.Null(),
    handler: () => null,
  }),
  method({
    name: 'eth_getUncleByBlockNumberAndIndex',
    namespace: 'eth',
    summary: 'An uncle of a block; there is none',
    params: [ofNumber, position],
    result: Type.Null(),
    handler: () => null,
  }),
  method({
    name: 'eth_getUncleCountByBlockHash',
    namespace: 'eth',
    summary: 'How many uncles a block has: none',
    params: [ofHash],
    result: uncles,
    handler: async (context, id) => uncleCount(await blockOf(context, id)) ?? null,
  }),
  method({
    name: 'eth_getUncleCountByBlockNumber',
    namespace: 'eth',
    summary: 'How many uncles a block has: none',
    params: [ofNumber],
    result: uncles,
    handler: async (context, id) => uncleCount(await blockOf(context, id)) ?? null,
  }),
  method({
    name: 'eth_getRawTransactionByHash',
    namespace: 'eth',
    summary: 'Bytes of a transaction, sealed or waiting',
    params: [{ name: 'transaction hash', schema: hash }],
    result: bytes,
    handler: rawByHash,
  }),
  method({
    name: 'eth_getRawTransactionByBlockHashAndIndex',
    namespace: 'eth',
    summary: 'Bytes of a transaction by its place',
    params: [ofHash, position],
    result: bytes,
    handler: async (context, id, index) => await rawOf(context, await blockOf(context, id), Number(index)),
  }),
  method({
    name: 'eth_getRawTransactionByBlockNumberAndIndex',
    namespace: 'eth',
    summary: 'Bytes of a transaction by its place',
    params: [ofNumber, position],
    result: bytes,
    handler: async (context, id, index) => await rawOf(context, await blockOf(context, id), Number(index)),
  }),
];
