/** For so long an edge may read a head without a block whose transactions it knows to be sealed. */
const lateMs = 30_000;

/**
 * Next nonces of senders whose transactions are sealed.
 *
 * That a transaction is sealed is known before the read model shows its block: the account at the head has that nonce
 * still, and the pool has the transaction no more: a wallet would use the nonce twice.
 */
export class SealedNonces {
  readonly #next = new Map<string, Readonly<{ nonce: bigint; until: number }>>();

  note(sender: string, nonce: bigint): void {
    const now = performance.now();
    for (const [other, { until }] of this.#next) {
      if (until > now) break;
      this.#next.delete(other);
    }
    const known = this.of(sender);
    this.#next.delete(sender);
    this.#next.set(sender, { nonce: nonce > known ? nonce : known, until: now + lateMs });
  }

  /** The least nonce that an account may use; 0 where nothing of it was sealed in the last half minute. */
  of(address: string): bigint {
    const known = this.#next.get(address.toLowerCase());
    return known && known.until > performance.now() ? known.nonce : 0n;
  }
}
