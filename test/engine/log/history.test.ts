import { describe, expect, it } from 'vitest';
import type { Recorded } from '../../../src/commands/ports.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { PoisonEvent } from '../../../src/engine/log/envelope.ts';
import { actionOf, cause, decision, freshLog, validatorOf } from './fresh-log.ts';

/** Writes so many facts of `a.1`, each beside one of another entity; gives back their sequences. */
async function written(log: Log, count: number): Promise<number[]> {
  const sequences: number[] = [];
  for (let n = 0; n < count; n++) {
    const expected = sequences.at(-1) ?? 0;
    const other = decision(0, actionOf(`other${n}`));
    const { sequence } = await log.append([other, decision(expected, actionOf('a.1', n))], cause);
    sequences.push(sequence);
  }
  return sequences;
}

async function pagesOf(pages: AsyncIterable<readonly Recorded[]>): Promise<(readonly Recorded[])[]> {
  const all: (readonly Recorded[])[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

const sequencesOf = (pages: readonly (readonly Recorded[])[]): number[] => pages.flat().map(({ sequence }) => sequence);

describe('history', () => {
  it('gives the facts of one entity alone, in order, from after a sequence on', async () => {
    const { log } = await freshLog();
    const sequences = await written(log, 9);
    const all = await pagesOf(log.history('action', 'a.1', 0));
    expect(all.flat().map(({ fact }) => fact)).toEqual(sequences.map((_, n) => actionOf('a.1', n)));
    expect(sequencesOf(all)).toEqual(sequences);
    expect(sequencesOf(await pagesOf(log.history('action', 'a.1', sequences[4] ?? 0)))).toEqual(sequences.slice(5));
    const between = (sequences[4] ?? 0) - 1;
    expect(sequencesOf(await pagesOf(log.history('action', 'a.1', between)))).toEqual(sequences.slice(4));
    expect(await pagesOf(log.history('action', 'a.1', sequences[8] ?? 0))).toEqual([]);
    expect(await pagesOf(log.history('action', 'nobody', 0))).toEqual([]);
  });

  it('comes in pages of a bounded size, and ends at the end of the entity', async () => {
    const { log } = await freshLog();
    const sequences = await written(log, 7);
    const pages = await pagesOf(log.history('action', 'a.1', 0, { pageSize: 3 }));
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(sequencesOf(pages)).toEqual(sequences);
  });

  it('pages through what is larger than the broker sends at once', async () => {
    const { log } = await freshLog();
    const large = Array.from({ length: 30 }, (_, n) => validatorOf('v', `${n % 10}`.repeat(400_000)));
    let expected = 0;
    for (const fact of large) expected = (await log.append([decision(expected, fact)], cause)).sequence;
    const pages = await pagesOf(log.history('validator', 'v', 0));
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat().map(({ fact }) => fact)).toEqual(large);
  });

  it('throws on an event that cannot be read', async () => {
    const { log, nc, network } = await freshLog();
    await log.append([decision(0, actionOf('x'))], cause);
    await nc.request(`evt.action.${network}.x`, 'no event');
    await expect(pagesOf(log.history('action', 'x', 0))).rejects.toThrow(PoisonEvent);
  });
});
