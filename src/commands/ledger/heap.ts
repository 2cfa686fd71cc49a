/** A binary heap: `pop` removes the value that is before all others; n values cost n log n steps. */
export class Heap<T> {
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #values: T[] = [];

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  push(value: T): void {
    this.#values.push(value);
    for (let at = this.#values.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  pop(): T | undefined {
    const last = this.#values.pop();
    const [first] = this.#values;
    if (first === undefined || last === undefined) return last;
    this.#values[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = this.#isAtBefore(right, left) ? right : left;
      if (!this.#swapIfBefore(child, at)) return first;
      at = child;
    }
  }

  #isAtBefore(a: number, b: number): boolean {
    const [one, other] = [this.#values[a], this.#values[b]];
    return one !== undefined && other !== undefined && this.#isBefore(one, other);
  }

  #swapIfBefore(a: number, b: number): boolean {
    const [one, other] = [this.#values[a], this.#values[b]];
    if (one === undefined || other === undefined || !this.#isBefore(one, other)) return false;
    this.#values[a] = other;
    this.#values[b] = one;
    return true;
  }
}
