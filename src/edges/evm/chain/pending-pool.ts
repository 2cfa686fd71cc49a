import type { TypedTransaction } from '@ethereumjs/tx';

/** Transactions that wait for a block. */
export type PendingPool = Readonly<{
  /** Submits a transaction and returns its hash. Fails with `CONFLICT` where it is not valid. */
  submit: (raw: Uint8Array) => Promise<string>;
  /** Those that can run now. */
  pending: () => readonly TypedTransaction[];
  /** Those behind a gap of their sender's nonces, or beyond what it may have run at once. */
  queued: () => readonly TypedTransaction[];
  /** One of either by its hash, in lower case. */
  get: (hash: string) => TypedTransaction | undefined;
  /** The least nonce that an account may use, by what was sealed a moment ago: the head may lack that block still. */
  sealedNonce: (address: string) => bigint;
}>;
