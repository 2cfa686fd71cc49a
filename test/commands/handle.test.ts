import { expect, test } from 'vitest';
import type { Decider } from '../../src/commands/decider.ts';
import { toAppError } from '../../src/kit/errors.ts';
import { handle } from '../../src/commands/handle.ts';
import { createLog } from '../../src/engine/log/log.ts';
import {
  actionOf,
  cause,
  connected,
  decision,
  everything,
  freshLog,
  probeOf,
  validatorOf,
} from '../engine/log/fresh-log.ts';
import { unlinked } from '../support/histories/facts.ts';

/** Counts: every command that was not the last one adds a fact with the number of facts so far. */
const counting: Decider<number, { count: number; last: number }, 'probe'> = {
  kind: 'probe',
  initialState: { count: 0, last: -1 },
  after: ({ data }) => ({ count: data.known.consecutiveFailures, last: data.tookMs }),
  decide(command, { count, last }) {
    if (command === last) return [];
    const { type, data } = probeOf('n', command);
    return [{ type, data: { ...data, known: { consecutiveFailures: count + 1, services: [] } } }];
  },
};

/** Lists a validator that is not listed under that name yet. */
const listing: Decider<Readonly<{ validator: string; moniker: string }>, string | undefined, 'validator'> = {
  kind: 'validator',
  initialState: undefined,
  after: ({ data }) => data.record.moniker,
  decide: ({ validator, moniker }, known) => (known === moniker ? [] : [validatorOf(validator, moniker)]),
};
const list = (from: number, to: number, moniker: string) =>
  new Map(Array.from({ length: to - from }, (_, i) => [`v${from + i}`, { validator: `v${from + i}`, moniker }]));

test('handle decides anew after a conflict: 50 writers on one entity are each heard exactly once', async () => {
  const { log, network } = await freshLog();
  const others = await Promise.all([connected(), connected(), connected()]);
  const all = [log, ...others.map((nc) => createLog(nc, network))];
  await Promise.all(
    Array.from({ length: 50 }, (_, i) => handle(all[i % all.length] ?? log, counting, new Map([['n', i]]), cause)),
  );
  const events = await everything(log, 'PROBES');
  expect(unlinked(events)).toEqual([]);
  const facts = events.flatMap(({ fact }) => (fact.type === 'ProbeFailed' ? fact : []));
  expect(facts.map(({ data }) => data.known.consecutiveFailures)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(new Set(facts.map(({ data }) => data.tookMs)).size).toBe(50);
});

test('handle appends nothing where nothing is new', async () => {
  const { log } = await freshLog();
  const commands = list(0, 3, 'a');
  expect(await handle(log, listing, commands, cause)).toMatchObject({
    facts: 3,
    last: { stream: 'NODES', sequence: 3 },
  });
  expect(await handle(log, listing, commands, cause)).toMatchObject({ facts: 0, last: undefined });
  expect((await log.head('NODES')).lastSequence).toBe(3);
});

test('handle takes more entities than one batch holds, and says where the last append ended', async () => {
  const { log } = await freshLog();
  const { facts, last } = await handle(log, listing, list(0, 2500, 'a'), cause);
  expect({ facts, sequence: last?.sequence }).toEqual({ facts: 2500, sequence: 2500 });
  expect((await log.lastOfAll('validator')).size).toBe(2500);
});

test('handle gives back every entity as it is in the log, whatever was written and however it was known', async () => {
  const { log } = await freshLog();
  const first = await handle(log, listing, list(0, 700, 'a'), cause);
  const reads: string[][] = [];
  const watched = {
    ...log,
    last: async (...asked: Parameters<typeof log.last>) => {
      reads.push([...asked[1]]);
      return await log.last(...asked);
    },
  };
  const given = new Map([...list(0, 10, 'a'), ...list(695, 702, 'b')]);
  const { states } = await handle(watched, listing, given, { ...cause, known: first.states });
  const stored = await log.last('validator', [...given.keys()]);
  expect([...states].map(([entity, { sequence }]) => [entity, sequence])).toEqual(
    [...given.keys()].map((entity) => [entity, stored.get(entity)?.sequence]),
  );
  expect(states.get('v0')?.state).toBe('a');
  expect(states.get('v701')?.state).toBe('b');
  expect(reads, 'only what was not known').toEqual([['v700', 'v701']]);
  expect(unlinked(await everything(log, 'NODES'))).toEqual([]);
});

test('handle reads again what was known when somebody else has written since', async () => {
  const { log } = await freshLog();
  const before = await handle(log, counting, new Map([['n', 1]]), cause);
  await handle(log, counting, new Map([['n', 2]]), cause);
  const { states } = await handle(log, counting, new Map([['n', 3]]), { ...cause, known: before.states });
  expect(states.get('n')).toMatchObject({ state: { count: 3, last: 3 }, sequence: 3 });
  expect(unlinked(await everything(log, 'PROBES'))).toEqual([]);
});

test('handle by two at once on overlapping entities writes what is new once', async () => {
  const { log, network } = await freshLog();
  const other = createLog(await connected(), network);
  const both = await Promise.all([
    handle(log, listing, list(0, 800, 'a'), cause),
    handle(other, listing, list(400, 1200, 'a'), cause),
  ]);
  const stored = await everything(log, 'NODES');
  expect(stored).toHaveLength(1200);
  expect(both.every(({ facts }) => facts > 0)).toBe(true);
});

test('handle refuses a fact of another kind on the subject of its entity', async () => {
  const { log } = await freshLog();
  await log.append([decision(0, actionOf('n'))], cause);
  const misled = {
    ...log,
    last: async (_: unknown, entities: readonly string[]) => await log.last('action', entities),
  };
  const failure = await handle(misled, counting, new Map([['n', 1]]), cause).catch(toAppError);
  expect(failure).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('ActionExpired') });
});
