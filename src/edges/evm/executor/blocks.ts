import { type Block, createBlockFromRLP, createBlockHeaderFromRLP, type BlockHeader } from '@ethereumjs/block';
import { RLP } from '@ethereumjs/rlp';
import type { TypedTransaction } from '@ethereumjs/tx';
import { bytesToBigInt, bytesToHex } from '@ethereumjs/util';
import { encodeReceipt, type TxReceipt } from '@ethereumjs/vm';
import { AppError, toAppError } from '../../../kit/errors.ts';
import type { ForkPosition, Forks } from './forks.ts';
import { rootOf } from '../../../kit/shims/ethereumjs/put-all.ts';
import { keccak256 } from './keccak.ts';
import type { StoredHeader } from './state/node-store.ts';

const numberAt = 8;
const timestampAt = 11;

/** A header of its RLP form, under the rules of its fork. Fails with `INVALID_ARGUMENT`. */
export const readHeader = (rlp: Uint8Array, forks: Forks): BlockHeader =>
  reading('header', () => createBlockHeaderFromRLP(rlp, { common: forks.at(positionOf(RLP.decode(rlp))) }));

/** A complete block from its RLP form, under the rules of its fork. Fails with `INVALID_ARGUMENT`. */
export const readBlock = (rlp: Uint8Array, forks: Forks): Block =>
  reading('block', () => {
    const [header = []] = listOf(RLP.decode(rlp));
    return createBlockFromRLP(rlp, { common: forks.at(positionOf(header)) });
  });

/** The form in which a header is stored and looked up. */
export const storedHeader = (header: BlockHeader): StoredHeader => ({
  number: header.number,
  hash: bytesToHex(header.hash()),
  rlp: header.serialize(),
});

/** Roots of a block's transactions and of their receipts. */
export function blockRoots(
  transactions: readonly TypedTransaction[],
  receipts: readonly TxReceipt[],
): Readonly<{ transactionsTrie: Uint8Array; receiptTrie: Uint8Array }> {
  const rootOfEach = (values: readonly Uint8Array[]): Uint8Array =>
    rootOf(
      values.map((value, index) => ({ key: RLP.encode(index), value })),
      keccak256,
    );
  return {
    transactionsTrie: rootOfEach(transactions.map((transaction) => transaction.serialize())),
    receiptTrie: rootOfEach(receipts.map((receipt, index) => encodeReceipt(receipt, transactions[index]?.type ?? 0))),
  };
}

function positionOf(header: unknown): ForkPosition {
  const fields = listOf(header);
  const field = (index: number): bigint => {
    const value = fields[index];
    if (!(value instanceof Uint8Array)) throw new AppError('INVALID_ARGUMENT', 'A header lacks a field');
    return bytesToBigInt(value);
  };
  return { number: field(numberAt), timestamp: field(timestampAt) };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `The ${what} cannot be read: ${toAppError(caught).message}`, {
      cause: caught,
    });
  }
}
