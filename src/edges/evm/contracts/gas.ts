/** The charges of the system contracts, each before the work is done. */
export const gas = {
  call: 3_000n,
  /** Of the call's input, where it may change something. */
  inputByte: 16n,
  /** A row that is read, as a cold account costs; its bytes are known only once it is there. */
  row: 2_600n,
  rowByte: 1n,
  /** A row that is written costs as code does. */
  storedByte: 200n,
  /** A word of an index. */
  word: 2_100n,
  storedWord: 5_000n,
  /** An account of the rules that is written. */
  account: 5_000n,
  /** Of the chain's own events, and of logs, beside `log` and `topic`. */
  eventByte: 8n,
  log: 375n,
  topic: 375n,
} as const;

/** Thrown before the first work that the call's gas does not pay. */
export class GasSpent extends Error {}

/** Counts what a call of a system contract has spent of its gas. */
export class Meter {
  readonly #limit: bigint;
  spent = 0n;

  constructor(limit: bigint) {
    this.#limit = limit;
  }

  /** Pays for work that comes next. Fails with `GasSpent` where the rest does not suffice. */
  pay(amount: bigint): void {
    if (this.spent + amount > this.#limit) throw new GasSpent('The call has no gas left');
    this.spent += amount;
  }
}

/** A meter that charges nothing, for what transactions of the rules do. */
export const free: Pick<Meter, 'pay'> = { pay: () => undefined };
