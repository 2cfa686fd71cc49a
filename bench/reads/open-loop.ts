import { Pool } from 'undici';
import type { Read } from './requests.ts';

/** How long requests of one name took, in milliseconds, and how many failed. */
export type Times = Readonly<{ name: string; count: number; failed: number; p50: number; p99: number }>;

type Load = Readonly<{ url: string; perSecond: number; seconds: number; random: () => number }>;

/**
 * Sends reads at their times, whether or not earlier ones were answered; each is timed from when it was due.
 *
 * All reads come equally often, in an order that the numbers decide.
 */
export async function openLoop(reads: readonly Read[], { url, perSecond, seconds, random }: Load): Promise<Times[]> {
  const took = new Map<string, number[]>(reads.map(({ name }) => [name, []]));
  const failed = new Map<string, number>();
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  let open = 0;
  let whenAnswered: (() => void) | undefined;
  const began = performance.now();
  const ask = ({ name, path }: Read, due: number): void => {
    const answered = (isSound: boolean): void => {
      took.get(name)?.push(performance.now() - due);
      if (!isSound) failed.set(name, (failed.get(name) ?? 0) + 1);
      open -= 1;
      whenAnswered?.();
    };
    let status = 0;
    open += 1;
    pool.dispatch(
      { path: path(random), method: 'GET' },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, code) => void (status = code),
        onResponseData: () => undefined,
        onResponseEnd: () => answered(status === 200),
        onResponseError: () => answered(false),
      },
    );
  };
  for (let count = 0; count < perSecond * seconds;) {
    const isDue = began + (count * 1000) / perSecond;
    if (isDue > performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    const read = reads[Math.floor(random() * reads.length)];
    if (read) ask(read, isDue);
    count += 1;
  }
  while (open > 0) await new Promise<void>((resolve) => (whenAnswered = resolve));
  await pool.close();
  return [...took].map(([name, times]) => ({ name, failed: failed.get(name) ?? 0, ...summed(times) }));
}

function summed(times: number[]): Pick<Times, 'count' | 'p50' | 'p99'> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Infinity;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
