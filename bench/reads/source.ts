import type { Recorded } from '../../src/commands/ports.ts';
import type { Fact } from '../../src/events/catalogue.ts';
import type { StreamName } from '../../src/events/streams.ts';
import type { Head, Source } from '../../src/edges/models/engine/source.ts';
import { fleetFacts, lastProbes, lastRounds, lifeOf } from './facts.ts';
import type { World } from './world.ts';

/** Sequences of an action's facts begin at multiples of this. */
const mostOfOne = 3;
const incarnation = '2026-01-01T00:00:00Z';
const time = '2026-01-01T00:00:00Z';

type Numbered = Readonly<{ fact: Fact; sequence: number }>;

/** The log of the load, made up as it is read: the same facts at the same sequences each time. */
export function sourceOf(world: World): Source {
  const lists: Partial<Record<StreamName, Fact[]>> = {
    NODES: fleetFacts(world),
    PROBES: lastProbes(world),
    SYNC: lastRounds(world),
  };
  const lastOf = (stream: StreamName): number => {
    const list = lists[stream];
    return list ? list.length : (numbered(world, world.actions - 1).at(-1)?.sequence ?? 0);
  };
  return {
    head: async (stream): Promise<Head> => ({ incarnation, firstSequence: 1, lastSequence: lastOf(stream) }),
    follow: async function* (stream, after, { maxFacts = 1000, signal }) {
      const last = lastOf(stream);
      const list = lists[stream];
      const all = list
        ? list.map((fact, at): Numbered => ({ fact, sequence: at + 1 })).slice(after)
        : livesAfter(world, after);
      let facts: Recorded[] = [];
      for (const { fact, sequence } of all) {
        if (signal.aborted) return;
        facts.push({ fact, sequence, id: `${stream}-${sequence}`, time });
        if (facts.length < Math.min(maxFacts, 1000) && sequence < last) continue;
        yield { facts, behind: last - sequence };
        facts = [];
      }
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    },
  };
}

function* livesAfter(world: World, after: number): Generator<Numbered> {
  for (let place = Math.floor(after / mostOfOne); place < world.actions; place += 1) {
    for (const one of numbered(world, place)) if (one.sequence > after) yield one;
  }
}

function numbered(world: World, place: number): Numbered[] {
  return lifeOf(world, place).map((fact, at) => ({ fact, sequence: place * mostOfOne + at + 1 }));
}
