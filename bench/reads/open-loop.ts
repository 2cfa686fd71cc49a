import { atTheirTimes } from '../at-their-times.ts';
import { Line } from './line.ts';
import type { Read } from './requests.ts';

/** How long requests of one name took, in milliseconds, and how many failed. */
export type Times = Readonly<{ name: string; count: number; failed: number; p50: number; p99: number }>;

const mostLines = 64;

type Load = Readonly<{ url: string; perSecond: number; seconds: number; random: () => number }>;

/**
 * Sends reads at their times, whether or not earlier ones were answered; each is timed from when it was due.
 *
 * All reads come equally often, in an order that the numbers decide.
 */
export async function openLoop(reads: readonly Read[], { url, perSecond, seconds, random }: Load): Promise<Times[]> {
  const took = new Map<string, number[]>(reads.map(({ name }) => [name, []]));
  const failed = new Map<string, number>();
  const lines = Array.from({ length: mostLines }, () => new Line(url));
  const free = [...lines];
  const waiting: { read: Read; due: number }[] = [];
  let open = 0;
  let whenAnswered: (() => void) | undefined;
  const ask = (line: Line, { name, path }: Read, due: number): void =>
    line.ask(path(random), (isSound) => {
      took.get(name)?.push(performance.now() - due);
      if (!isSound) failed.set(name, (failed.get(name) ?? 0) + 1);
      open -= 1;
      const next = waiting.shift();
      if (next) ask(line, next.read, next.due);
      else free.push(line);
      whenAnswered?.();
    });
  await atTheirTimes({ perSecond, seconds }, (due) => {
    const read = reads[Math.floor(random() * reads.length)];
    if (!read) return;
    open += 1;
    const line = free.shift();
    if (line) ask(line, read, due);
    else waiting.push({ read, due });
  });
  while (open > 0) await new Promise<void>((resolve) => (whenAnswered = resolve));
  for (const line of lines) line.close();
  return [...took].map(([name, times]) => ({ name, failed: failed.get(name) ?? 0, ...summed(times) }));
}

function summed(times: number[]): Pick<Times, 'count' | 'p50' | 'p99'> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Infinity;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
