import { setTimeout as pause } from 'node:timers/promises';
import { base64urlnopad } from '@scure/base';

type Position = Readonly<Record<string, readonly [incarnation: string, sequence: number]>>;
type Json = Readonly<Record<string, unknown>>;

/** Readers without a pause leave no processor to a replay, which gives way to everybody. */
const askAgainMs = 100;

/** What a reader saw go wrong; nothing, if all is well. */
export type Polled = Readonly<{ path: string; answers: number; positions: number; complaints: readonly string[] }>;

/** Readers that ask again and again, each its own path, one request at a time. */
export type Pollers = Readonly<{
  /** Resolves when every reader has had that many further answers. */
  further: (answers: number) => Promise<void>;
  /** Ends them all, each after the answer under way. */
  stop: () => Promise<readonly Polled[]>;
}>;

/**
 * Starts a reader for each path; paths that lead from page to page go on with the cursor of the last answer.
 *
 * A reader complains about an answer of another status than it is to be, about a position that goes back or is of
 * another life of its stream, and about a total that goes back.
 */
export function startPollers(base: string, expected: ReadonlyMap<string, number>): Pollers {
  const readers = [...expected].map(([path, status]) => new Reader(base, path, status));
  const running = readers.map((reader) => reader.run());
  return {
    further: async (answers) => {
      await Promise.all(readers.map((reader) => reader.further(answers)));
    },
    stop: async () => {
      for (const reader of readers) reader.isEnding = true;
      await Promise.all(running);
      return readers.map((reader) => reader.polled());
    },
  };
}

class Reader {
  isEnding = false;
  readonly #base: string;
  readonly #path: string;
  readonly #status: number;
  readonly #complaints: string[] = [];
  readonly #waiting = new Map<() => void, number>();
  #answers = 0;
  #positions = 0;
  #position: Position = {};
  #total = 0;
  #cursor = '';

  constructor(base: string, path: string, status: number) {
    this.#base = base;
    this.#path = path;
    this.#status = status;
  }

  async run(): Promise<void> {
    while (!this.isEnding) {
      await this.#ask().catch((caught: unknown) => this.#complain(`failed: ${String(caught)}`));
      this.#answers += 1;
      for (const [resolve, at] of this.#waiting) if (this.#answers >= at) resolve();
      await pause(askAgainMs);
    }
  }

  further(answers: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(resolve, this.#answers + answers));
  }

  polled(): Polled {
    return { path: this.#path, answers: this.#answers, positions: this.#positions, complaints: this.#complaints };
  }

  async #ask(): Promise<void> {
    const response = await fetch(`${this.#base}${this.#path}${this.#cursor}`);
    const text = await response.text();
    if (response.status !== this.#status) return this.#complain(`${response.status} ${text.slice(0, 500)}`);
    this.#look(response.headers.get('annals-position'));
    if (response.headers.get('content-type')?.startsWith('application/json')) this.#count(JSON.parse(text) as Json);
  }

  #look(token: string | null): void {
    if (token === null) return;
    const now = JSON.parse(Buffer.from(base64urlnopad.decode(token)).toString()) as Position;
    for (const [stream, [incarnation, sequence]] of Object.entries(now)) {
      const [before, last] = this.#position[stream] ?? [incarnation, 0];
      if (before !== incarnation || sequence < last)
        this.#complain(`${stream} went from ${before} ${last} to ${incarnation} ${sequence}`);
    }
    this.#position = now;
    this.#positions += 1;
  }

  #count({ total, total_actions: totalActions, cursor }: Json): void {
    const now = total ?? totalActions;
    if (typeof now === 'number') {
      if (now < this.#total) this.#complain(`the total went from ${this.#total} to ${now}`);
      this.#total = now;
    }
    const goesOn = this.#path.includes('limit=') && typeof cursor === 'string';
    this.#cursor = goesOn ? `&cursor=${cursor}` : '';
  }

  #complain(complaint: string): void {
    if (this.#complaints.length < 5) this.#complaints.push(complaint);
  }
}
