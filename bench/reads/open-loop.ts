import { Agent, request } from 'undici';
import type { Read } from './requests.ts';

/** How long requests of one name took, in milliseconds, and how many failed. */
export type Times = Readonly<{ name: string; count: number; failed: number; p50: number; p99: number }>;

type Load = Readonly<{ url: string; perSecond: number; seconds: number; random: () => number; signal: AbortSignal }>;

/**
 * Sends reads at their times, whether or not earlier ones were answered; each is timed from when it was due.
 *
 * All reads come equally often, in an order that the numbers decide.
 */
export async function openLoop(
  reads: readonly Read[],
  { url, perSecond, seconds, random, signal }: Load,
): Promise<Times[]> {
  const took = new Map<string, number[]>(reads.map(({ name }) => [name, []]));
  const failed = new Map<string, number>();
  const dispatcher = new Agent({ connections: 64, pipelining: 1 });
  const sent: Promise<void>[] = [];
  const began = performance.now();
  const ask = async ({ name, path }: Read, due: number): Promise<void> => {
    const { statusCode, body } = await request(url + path(random), { dispatcher });
    await body.dump({ limit: 2 ** 24 });
    took.get(name)?.push(performance.now() - due);
    if (statusCode !== 200) failed.set(name, (failed.get(name) ?? 0) + 1);
  };
  for (let count = 0; count < perSecond * seconds && !signal.aborted;) {
    const isDue = began + (count * 1000) / perSecond;
    if (isDue > performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    const read = reads[Math.floor(random() * reads.length)];
    if (read) sent.push(ask(read, isDue).catch(() => void failed.set(read.name, (failed.get(read.name) ?? 0) + 1)));
    count += 1;
  }
  await Promise.all(sent);
  await dispatcher.close();
  return [...took].map(([name, times]) => ({ name, failed: failed.get(name) ?? 0, ...summed(times) }));
}

function summed(times: number[]): Pick<Times, 'count' | 'p50' | 'p99'> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Infinity;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
