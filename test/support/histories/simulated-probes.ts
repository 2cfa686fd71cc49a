import type { Fact } from '../../../src/events/catalogue.ts';

/** A source of numbers from 0 to 1 that a seed decides. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** How probes of a node are simulated. */
export type Simulation = Readonly<{
  node: string;
  /** Milliseconds since 1970. */
  from: number;
  to: number;
  everySeconds: number;
  random: () => number;
  /** Whether the prober runs, and whether its own network does, at a time. */
  isProbing?: (ms: number) => boolean;
  isConnected?: (ms: number) => boolean;
}>;

/** Probes of a node that fails now and then, once or for long, and answers in times of a wide spread. */
export function simulatedProbes(options: Simulation): Fact<'ProbeSucceeded' | 'ProbeFailed'>[] {
  const { node, from, to, everySeconds, random, isProbing = () => true, isConnected = () => true } = options;
  const facts: Fact<'ProbeSucceeded' | 'ProbeFailed'>[] = [];
  const known = { consecutiveFailures: 0, services: [] };
  let failing = 0;
  for (let ms = from + random() * 1000; ms < to; ms += everySeconds * 1000 * (0.97 + random() * 0.06)) {
    if (!isProbing(ms)) continue;
    if (failing === 0 && random() < 0.02) failing = random() < 0.5 ? 1 : Math.ceil(random() * 12);
    const hasPassed = isConnected(ms) && failing === 0;
    failing = Math.max(failing - 1, 0);
    const outcome = isConnected(ms) ? (hasPassed ? 'open' : 'refused') : 'unreachable';
    const ports = [4444, 4445, 8002].map((port) => ({ port, outcome }));
    const at = new Date(Math.floor(ms)).toISOString();
    const tookMs = Math.round(20 + 2_000 * random() ** 6);
    facts.push(
      hasPassed
        ? { type: 'ProbeSucceeded', data: { node, at, ports, tookMs, known, everySeconds } }
        : { type: 'ProbeFailed', data: { node, at, ports, tookMs, statusAnswer: 'not_asked', known, everySeconds } },
    );
  }
  return facts;
}
