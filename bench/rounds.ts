import type { Figures, Row } from './row.ts';

/** Does its work once and gives back the row's figure of it. */
export type Contender = () => Promise<number>;

/** How rounds are made: how many, and whether one that is not counted comes first. */
export type RoundOptions = Readonly<{
  rounds: number;
  warmUp: boolean;
  better: Row['better'];
  say: (line: string) => void;
}>;

/**
 * Measures two in turn, A B A B, so that both meet the same machine; the ratio is the median of each round's own.
 *
 * Where the peer cannot be had, or fails, ours is measured all the same and the note says why.
 */
export async function inTurn(
  options: RoundOptions,
  ours: Contender,
  openPeer?: () => Promise<Contender>,
): Promise<Figures> {
  const { rounds, warmUp, better, say } = options;
  let why: string | undefined;
  const meet = async <T>(work: () => Promise<T>): Promise<T | undefined> =>
    why === undefined ? work().catch((caught: unknown) => void (why = firstLine(caught))) : undefined;
  const peer = openPeer && (await meet(openPeer));
  if (warmUp) {
    await ours();
    if (peer) await meet(peer);
  }
  const pairs: (readonly [number, number | undefined])[] = [];
  for (let round = 1; round <= rounds; round++) {
    const pair = [await ours(), peer && (await meet(peer))] as const;
    say(`round ${round} of ${rounds}: ${pair.map((figure) => figure?.toPrecision(4) ?? '–').join(' | ')}`);
    pairs.push(pair);
  }
  const own = median(pairs.map(([figure]) => figure));
  const both = pairs.filter((pair): pair is [number, number] => pair[1] !== undefined);
  if (why !== undefined || both.length === 0)
    return { ours: own, peer: null, ratio: null, ...(why === undefined ? {} : { note: why }) };
  const ratio = median(both.map(([one, other]) => (better === 'higher' ? one / other : other / one)));
  return { ours: own, peer: median(both.map(([, figure]) => figure)), ratio };
}

/** The middle of some figures; of an even number, between the two in the middle. */
export function median(figures: readonly number[]): number {
  return percentile(figures, 50);
}

/** What this share of the figures (in per cent) does not exceed. */
export function percentile(figures: readonly number[], percent: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (low === undefined || high === undefined) throw new Error('There are no figures to take the middle of');
  return low + (high - low) * (place - Math.floor(place));
}

/** Work per second, from how many there were and what it took. */
export async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  return count / ((await milliseconds(work)) / 1000);
}

/** How long work took. */
export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const firstLine = (caught: unknown): string =>
  String(caught instanceof Error ? caught.message : caught).split('\n', 1)[0] ?? '';
