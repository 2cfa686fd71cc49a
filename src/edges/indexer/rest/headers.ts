import { base64urlnopad } from '@scure/base';
import type { Followed } from '../../../projections/reading.ts';
import type { Source } from '../../../events/words.ts';
import type { RoundRow } from '../../../projections/tables.ts';

/**
 * A position in the log as an opaque, URL-safe token: stream, its incarnation and a sequence, the least where several
 * follow one stream.
 *
 * @example positionToken([{ stream: 'SYNC', incarnation: '2026-01-31T12:00:00Z', sequence: 7 }])
 */
export function positionToken(followed: readonly Followed[]): string {
  const least = new Map<string, Followed>();
  for (const one of followed) {
    const other = least.get(one.stream);
    if (!other || one.sequence < other.sequence) least.set(one.stream, one);
  }
  const positions = [...least.values()].toSorted((a, b) => (a.stream < b.stream ? -1 : 1));
  const text = JSON.stringify(
    Object.fromEntries(positions.map(({ stream, incarnation, sequence }) => [stream, [incarnation, sequence]])),
  );
  return base64urlnopad.encode(Buffer.from(text));
}

/** Milliseconds since the oldest of the last completed rounds of some sources; undefined while one has none. */
export function chainAgeMs(rounds: readonly RoundRow[], of: readonly Source[], now: number): number | undefined {
  const completed = of.map((source) => rounds.find((round) => round.source === source)?.completed_at ?? null);
  const times = completed.filter((at) => at !== null).map((at) => Date.parse(at));
  return times.length === of.length ? Math.max(Math.round(now - Math.min(...times)), 0) : undefined;
}
