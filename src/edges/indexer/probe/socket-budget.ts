import type { Dial } from './dial.ts';

/** A number of sockets that are handed out; who comes first is served first. */
export class SocketBudget {
  #free: number;
  readonly #waiting: { count: number; begin: () => void }[] = [];

  constructor(sockets: number) {
    this.#free = sockets;
  }

  /** Waits until so many are free at once. */
  take(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, begin: resolve });
      this.#serve();
    });
  }

  give(count: number): void {
    this.#free += count;
    this.#serve();
  }

  #serve(): void {
    for (let [next] = this.#waiting; next && next.count <= this.#free; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#free -= next.count;
      next.begin();
    }
  }
}

/**
 * Runs work that dials some ports at once, with a socket for each of them.
 *
 * The socket of a port that is knocked at only comes back as soon as that is done, that of `asked` when the work is: a
 * node that is slow to answer keeps one socket busy, not all.
 */
export async function withSockets<T>(
  budget: SocketBudget,
  { count, asked, dial }: Readonly<{ count: number; asked: number; dial: Dial }>,
  work: (dial: Dial) => Promise<T>,
): Promise<T> {
  await budget.take(count);
  let held = count;
  const knocking: Dial = async (ip, port, options) => {
    const dialled = await dial(ip, port, options);
    if (port !== asked && held > 1) {
      held -= 1;
      budget.give(1);
    }
    return dialled;
  };
  try {
    return await work(knocking);
  } finally {
    budget.give(held);
  }
}
