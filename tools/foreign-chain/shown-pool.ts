import type { Common } from '@ethereumjs/common';
import { RLP } from '@ethereumjs/rlp';
import { createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import { bytesToHex, concatBytes } from '@ethereumjs/util';
import { sha256 } from '@noble/hashes/sha2.js';
import type { News } from '../../src/edges/evm/chain/news.ts';
import type { PendingPool } from '../../src/edges/evm/chain/pending-pool.ts';
import type { Forks } from '../../src/edges/evm/executor/forks.ts';
import { AppError, toAppError } from '../../src/kit/errors.ts';
import type { MemoryBlocks } from '../../test/support/histories/memory-blocks.ts';

const blobType = 3;
const mostPending = 5000;

/** A pool that checks and shows transactions; no block is ever made of them. */
export function createShownPool(forks: Forks, blocks: MemoryBlocks, news: News): PendingPool {
  const known = new Map<string, TypedTransaction>();
  return {
    pending: () => [...known.values()],
    queued: () => [],
    sealedNonce: () => 0n,
    get: (hash) => known.get(hash),
    submit: async (raw) => {
      if (known.size >= mostPending) throw new AppError('CONFLICT', 'txpool is full');
      const { number, fields } = await blocks.head();
      const tx = readBlobTransaction(raw, forks.at({ number: number + 1n, timestamp: fields.timestamp }));
      const hash = bytesToHex(tx.hash());
      if (!known.has(hash)) news.tellPending(tx);
      known.set(hash, tx);
      return hash;
    },
  };
}

/** A signed transaction; one with blobs comes with them around it. Fails with `CONFLICT`. */
export function readBlobTransaction(raw: Uint8Array, common: Common): TypedTransaction {
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
