import { RLP } from '@ethereumjs/rlp';
import { createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import { bytesToHex, concatBytes } from '@ethereumjs/util';
import { sha256 } from '@noble/hashes/sha2.js';
import type { Common } from '@ethereumjs/common';
import { AppError, toAppError } from '../../../kit/errors.ts';

/** Transactions that wait for a block. */
export type PendingPool = Readonly<{
  /** Takes in a transaction and says its hash. Fails with `CONFLICT` where it is no valid one. */
  submit: (raw: Uint8Array) => Promise<string>;
  /** Those that can run now. */
  pending: () => readonly TypedTransaction[];
  /** Those behind a gap of their sender's nonces, or beyond what it may have run at once. */
  queued: () => readonly TypedTransaction[];
  /** One of either by its hash, in lower case. */
  get: (hash: string) => TypedTransaction | undefined;
}>;

const blobType = 3;
const mostPending = 5000;

/** A pool of a chain that is only looked at: it checks and shows transactions, and nothing takes them up. */
export function createShownPool(
  common: () => Promise<Common>,
  taken: (transaction: TypedTransaction) => void,
): PendingPool {
  const known = new Map<string, TypedTransaction>();
  return {
    pending: () => [...known.values()],
    queued: () => [],
    get: (hash) => known.get(hash),
    submit: async (raw) => {
      if (known.size >= mostPending) throw new AppError('CONFLICT', 'txpool is full');
      const tx = readTransaction(raw, await common());
      const hash = bytesToHex(tx.hash());
      if (!known.has(hash)) taken(tx);
      known.set(hash, tx);
      return hash;
    },
  };
}

/** A signed transaction; one with blobs comes with them around it. Fails with `CONFLICT`. */
export function readTransaction(raw: Uint8Array, common: Common): TypedTransaction {
  try {
    const tx = createTxFromRLP(raw[0] === blobType ? withoutBlobs(raw) : raw, { common });
    if (!tx.isValid()) throw new Error(tx.getValidationErrors().join('; '));
    tx.getSenderAddress();
    return tx;
  } catch (caught) {
    throw new AppError('CONFLICT', `invalid transaction: ${toAppError(caught).message}`, { cause: caught });
  }
}

/** The transaction within its blobs; each of its hashes must be that of a commitment beside it. */
function withoutBlobs(raw: Uint8Array): Uint8Array {
  const parts = RLP.decode(raw.subarray(1));
  const [inner] = parts;
  if (!Array.isArray(inner)) return raw;
  const commitments = parts.at(-2);
  const hashes = inner[10];
  if (!Array.isArray(commitments) || !Array.isArray(hashes) || commitments.length !== hashes.length)
    throw new Error('blobs, commitments and hashes are not as many');
  for (const [index, commitment] of commitments.entries()) {
    const wanted = hashes[index];
    if (!(commitment instanceof Uint8Array) || !(wanted instanceof Uint8Array))
      throw new Error('a commitment is no bytes');
    if (bytesToHex(concatBytes(Uint8Array.of(1), sha256(commitment).slice(1))) !== bytesToHex(wanted))
      throw new Error(`blob ${index} has another hash than its commitment`);
  }
  return concatBytes(raw.subarray(0, 1), RLP.encode(inner));
}
