import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Recorded } from '../../src/commands/ports.ts';
import type { Fact } from '../../src/events/catalogue.ts';
import type { StreamName } from '../../src/events/streams.ts';
import type { SourceHead, FactSource } from '../../src/engine/models/engine/source.ts';
import { fleetFacts, lastProbes, lastRounds, lifeOf } from './facts.ts';
import type { World } from './world.ts';

/** Sequences of an action's facts begin at multiples of this. */
const mostOfOne = 3;
const incarnation = '2026-01-01T00:00:00Z';
const time = '2026-01-01T00:00:00Z';

type Numbered = Readonly<{ fact: Fact; sequence: number }>;

/**
 * The log of the load, made up as it is read: the same facts at the same sequences each time. Where so many are to be
 * `perSecond`, further actions follow from now on; an earlier writer has added those up to `followed`.
 */
export function sourceOf(world: World, { perSecond = 0, followed = 0 } = {}): FactSource {
  const actions = Math.max(world.actions, Math.ceil(followed / mostOfOne));
  const lists: Partial<Record<StreamName, Fact[]>> = {
    NODES: fleetFacts(world),
    PROBES: lastProbes(world),
    SYNC: lastRounds(world),
  };
  const written = growing(world, actions, perSecond);
  const lastBuilt = numbered(world, actions - 1).at(-1)?.sequence ?? 0;
  const lastOf = (stream: StreamName): number => {
    const list = lists[stream];
    if (stream !== 'ACTIONS') return list?.length ?? 0;
    return written().at(-1)?.sequence ?? lastBuilt;
  };
  return {
    head: async (stream): Promise<SourceHead> => ({ incarnation, firstSequence: 1, lastSequence: lastOf(stream) }),
    follow: async function* (stream, after, { maxFacts = 1000, signal }) {
      // Facts that were written since this source was made come after those of the built load.
      const last = stream === 'ACTIONS' ? lastBuilt : lastOf(stream);
      const list = stream === 'ACTIONS' ? undefined : (lists[stream] ?? []);
      const all = list
        ? list.map((fact, at): Numbered => ({ fact, sequence: at + 1 })).slice(after)
        : livesAfter(world, after, actions);
      let facts: Recorded[] = [];
      for (const one of all) {
        if (signal.aborted) return;
        facts.push(recordedIn(stream)(one));
        if (facts.length < Math.min(maxFacts, 1000) && one.sequence < last) continue;
        yield { facts, bytes: 0, behind: last - one.sequence };
        facts = [];
      }
      for (let told = Math.max(last, after); perSecond > 0 && !list && !signal.aborted;) {
        const news = written().filter(({ sequence }) => sequence > told);
        told = news.at(-1)?.sequence ?? told;
        if (news.length > 0) yield { facts: news.map(recordedIn(stream)), bytes: 0, behind: 0 };
        await pause(1000 / perSecond, undefined, { signal }).catch(() => undefined);
      }
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
}

/** What was written since now, at so many facts a second. */
function growing(world: World, first: number, perSecond: number): () => readonly Numbered[] {
  const began = performance.now();
  const all: Numbered[] = [];
  let place = first;
  return () => {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    for (; all.length < due; place += 1) all.push(...numbered(world, place));
    return all.slice(0, due);
  };
}

const recordedIn =
  (stream: StreamName) =>
  ({ fact, sequence }: Numbered): Recorded => ({ fact, sequence, id: `${stream}-${sequence}`, time });

function* livesAfter(world: World, after: number, actions: number): Generator<Numbered> {
  for (let place = Math.floor(after / mostOfOne); place < actions; place += 1) {
    for (const one of numbered(world, place)) if (one.sequence > after) yield one;
  }
}

function numbered(world: World, place: number): Numbered[] {
  return lifeOf(world, place).map((fact, at) => ({ fact, sequence: place * mostOfOne + at + 1 }));
}
