/** What was made of the tables of a generation as they were at a position of its stream. */
type Made<T> = Readonly<{ generation: string; sequence: number; value: Promise<T> }>;

/** Transactions under way at once may be of as many positions, and of a few that others have left behind. */
const mostKept = 4;

/**
 * What is made at each position from what was made at an earlier one, once for all readings of that position.
 *
 * `from` makes it of an earlier value, undefined where there is none within `farBehind` positions. A failure is not
 * kept; whoever waits for it fails alike.
 */
export class MadeAt<T> {
  readonly #farBehind: number;
  #kept: readonly Made<T>[] = [];

  constructor(farBehind: number) {
    this.#farBehind = farBehind;
  }

  async get(
    { generation, sequence }: Readonly<{ generation: string; sequence: number }>,
    from: (before: Readonly<{ sequence: number; value: T }> | undefined) => Promise<T>,
  ): Promise<T> {
    const before = this.#kept.findLast(
      (one) => one.generation === generation && one.sequence <= sequence && one.sequence + this.#farBehind >= sequence,
    );
    if (before?.sequence === sequence) return await before.value;
    const make = async (): Promise<T> => {
      const value = await before?.value.catch(() => undefined);
      return await from(before && value !== undefined ? { sequence: before.sequence, value } : undefined);
    };
    const made = { generation, sequence, value: make() };
    this.#keep(made);
    try {
      return await made.value;
    } catch (caught) {
      this.#kept = this.#kept.filter((one) => one !== made);
      throw caught;
    }
  }

  #keep(made: Made<T>): void {
    const all = [...this.#kept.filter(({ generation }) => generation === made.generation), made];
    this.#kept = all.toSorted((a, b) => a.sequence - b.sequence).slice(-mostKept);
  }
}
