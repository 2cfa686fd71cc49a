import type { Recorded } from '../../../src/commands/ports.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import type { Leasing } from '../../../src/engine/log/leases.ts';
import type { FactBatch, SourceHead, FactSource } from '../../../src/engine/models/engine/source.ts';

/** One stream in memory, as the engine sees a log: for tests that need to say exactly what is read, and when. */
export class MemoryLog implements FactSource {
  incarnation = '2026-01-01T00:00:00Z';
  facts: Recorded[] = [];
  /** A sequence that cannot be read. */
  poison: number | undefined;
  /** Most facts of a batch, whatever the reader asks for. */
  batchSize = Infinity;
  /** How long each event is said to be. */
  bytesOfFact = 300;
  #waiting = new Set<() => void>();

  append(...facts: Fact[]): number {
    for (const fact of facts) {
      const sequence = this.facts.length + 1;
      this.facts.push({ fact, id: `id-${sequence}`, sequence, time: '2026-01-01T00:00:00Z' });
    }
    this.#wake();
    return this.facts.length;
  }

  /** What a broker does that lost its files: another stream under the same name. */
  replace(incarnation: string, facts: readonly Fact[]): void {
    this.incarnation = incarnation;
    this.facts = [];
    this.append(...facts);
  }

  head = async (): Promise<SourceHead> => ({
    incarnation: this.incarnation,
    firstSequence: 1,
    lastSequence: this.facts.length,
  });

  follow: FactSource['follow'] = (_stream, after, { maxFacts = 5000, signal }) => this.#read(after, maxFacts, signal);

  async *#read(start: number, maxFacts: number, signal: AbortSignal): AsyncGenerator<FactBatch> {
    let after = start;
    while (!signal.aborted) {
      if (after + 1 === this.poison && after < this.facts.length)
        throw Object.assign(new Error('Unknown event type'), { sequence: this.poison });
      const until = Math.min(
        after + Math.min(maxFacts, this.batchSize),
        (this.poison ?? Infinity) - 1,
        this.facts.length,
      );
      const facts = this.facts.slice(after, until);
      const bytes = facts.length * this.bytesOfFact;
      if (facts.length > 0) yield { facts, bytes, behind: this.facts.length - until };
      else await this.#more(signal);
      after = Math.max(after, until);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

/** Leases that everybody gets at once, so that what keeps two leaders apart is the database alone. */
export const generousLeases: Leasing = { hold: (_name, signal, run) => run({ signal }) };
