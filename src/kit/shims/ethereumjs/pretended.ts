/** @ethereumjs/vm 10.1.3 runs only blocks and transactions that could have been mined. */
import type { Block } from '@ethereumjs/block';
import type { TypedTransaction } from '@ethereumjs/tx';
import type { Address } from '@ethereumjs/util';

/**
 * A view of a block with other figures in its header than a valid one could have: a base fee of nothing for a call
 * that pays nothing, or a price of blobs that a caller wants.
 */
export function withHeader(block: Block, changes: Readonly<Record<string, PropertyDescriptor>>): Block {
  const header: unknown = Object.create(block.header, changes);
  return Object.create(block, { header: { value: header } }) as Block;
}

/** A view of a block of which only the hash is known, for the BLOCKHASH instruction. */
export function withHash(block: Block, hash: Uint8Array): Block {
  return Object.assign(Object.create(block) as Block, { hash: () => hash });
}

/** Makes an account the sender of a transaction that nobody signed. */
export function sentBy(tx: TypedTransaction, from: Address): TypedTransaction {
  return Object.assign(tx, {
    getSenderAddress: () => from,
    isSigned: () => true,
    isValid: () => true,
    getValidationErrors: () => [],
  });
}
