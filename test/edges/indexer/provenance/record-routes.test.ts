import jsonPatch from 'fast-json-patch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { patchBetween } from '../../../../src/edges/http/json-patch.ts';
import { catalogue, entityOf, type Fact } from '../../../../src/events/catalogue.ts';
import { randomHistory, seeded } from '../../../support/histories/random-history.ts';
import { asRecord, type Answer, type RestServer, startRest } from '../rest/rest-server.ts';

type Location = Readonly<{ stream: string; sequence: number; id: string; type: string }>;
type Explained = Readonly<
  Record<string, { value: unknown; event: Location | null; events?: readonly Location[]; was: unknown }>
>;

const kindOf = ({ type }: Fact): string => catalogue[type].kind;
const random = seeded(7);
const pickOf = (from: readonly number[]): number => from[random.below(from.length)] ?? 0;

/** SuperNodes and their probes first, so that no join of an action changes; then actions, their facts mixed. */
function historyOf(actions: number): Fact[] {
  const all = randomHistory(7, { actions });
  const lives = [
    ...Map.groupBy(
      all.filter((fact) => kindOf(fact) === 'action'),
      entityOf,
    ).values(),
  ];
  const mixed: Fact[] = all.filter((fact) => kindOf(fact) !== 'action');
  for (let open = lives; open.length > 0; open = open.filter((life) => life.length > 0))
    mixed.push(...open.slice(0, 5).flatMap((life) => (random.chance(0.5) ? life.splice(0, 1) : [])));
  return mixed;
}

const facts = historyOf(200);
const actionIds = [...new Set(facts.filter((fact) => kindOf(fact) === 'action').map(entityOf))];
let rest: RestServer;
beforeAll(async () => void (rest = await startRest(facts)));
afterAll(async () => await rest.close());

const explainedIn = ({ body }: Answer): Explained => body.explained as Explained;
const sequencesOf = (kind: string, id: string): number[] =>
  facts.flatMap((fact, at) => (kindOf(fact) === kind && entityOf(fact) === id ? [at + 1] : []));

describe('explain=true', () => {
  it('names for each field of 200 actions the event that brought it there, and what it was', async () => {
    expect(actionIds.length).toBe(200);
    for (const id of actionIds) {
      const own = sequencesOf('action', id);
      const path = `/v1/actions/${id}`;
      const [answer, plain, events, ...states] = await Promise.all([
        rest.get(`${path}?explain=true`),
        rest.get(path),
        rest.get(`${path}/events`),
        ...own.map((sequence) => rest.get(`${path}?as_of=ACTIONS:${sequence}`)),
      ]);
      const explained = explainedIn(answer);
      expect(Object.fromEntries(Object.entries(explained).map(([name, { value }]) => [name, value]))).toEqual(
        plain.body,
      );
      expect({ ...answer.body, explained: undefined }).toEqual({ ...plain.body, explained: undefined });
      const stored = events.body.events as { sequence: number; event: { id: string; type: string } }[];
      for (const [name, { value, event: last, events: joined, was }] of Object.entries(explained)) {
        const event = joined ? joined[0] : last;
        const at = own.indexOf(event?.sequence ?? 0);
        expect([id, name, event]).toMatchObject([id, name, { stream: 'ACTIONS', ...idAndType(stored[at]?.event) }]);
        expect([id, name, was]).toEqual([id, name, states[at - 1]?.body[name] ?? null]);
        for (const since of states.slice(at)) expect([id, name, since.body[name]]).toEqual([id, name, value]);
      }
    }
  });

  it('names events that hold what is new in each field', async () => {
    let joined = 0;
    for (const id of actionIds) {
      const explained = explainedIn(await rest.get(`/v1/actions/${id}?explain=true`));
      for (const [name, { value, event, events = [], was }] of Object.entries(explained)) {
        const held = [...events, event].map((one) => (one ? textOf(one) : '')).join('');
        const before = leavesOf(was).map((leaf) => JSON.stringify(leaf));
        const fresh = leavesOf(value).filter((leaf) => leaf !== null && !before.includes(JSON.stringify(leaf)));
        for (const leaf of wordsOf(name, fresh))
          expect([id, name, leaf, held.includes(leaf)]).toEqual([id, name, leaf, true]);
      }
      const { supernodes: { value, event, events = [] } = { value: [], event: null } } = explained;
      const operators = value as string[];
      expect(events.slice(1).map((one) => [one.stream, nodeIn(one)])).toEqual(operators.map((one) => ['NODES', one]));
      if (operators.length > 0) expect(event?.stream).toBe('NODES');
      joined += operators.length;
    }
    expect(joined).toBeGreaterThan(100);
  });

  it('is of the instant that as_of names', async () => {
    const [id = ''] = actionIds;
    const [first = 0] = sequencesOf('action', id);
    const { body, status } = await rest.get(`/v1/actions/${id}?explain=true&as_of=ACTIONS:${first}`);
    expect([status, body.status]).toEqual([200, 'registered']);
    const all = Object.values(explainedIn({ body } as Answer));
    expect(all.map(({ event, was }) => [event?.sequence, was])).toEqual(all.map(() => [first, null]));
  });

  it('names the chain’s list and the last probe for the fields of a SuperNode, and no event for its rank', async () => {
    const { body } = await rest.get('/v1/supernodes/metrics');
    const nodes = body.supernodes as { id: string; probed_at: string | null }[];
    expect(nodes.length).toBeGreaterThan(2);
    for (const { id } of nodes) {
      const path = `/v1/supernodes/${id}/metrics`;
      const [answer, plain] = await Promise.all([rest.get(`${path}?explain=true`), rest.get(path)]);
      const { rank, ip, current_state: state, ...probed } = explainedIn(answer);
      const values = Object.entries(explainedIn(answer)).map(([name, { value }]) => [name, value]);
      expect(Object.fromEntries(values)).toEqual(plain.body);
      expect(rank?.event).toBeNull();
      for (const one of [ip, state, probed.id])
        expect(sequencesOf('node', id)).toContain(one?.event?.stream === 'NODES' && one.event.sequence);
      const last = sequencesOf('probe', id).at(-1);
      const { version, probed_at: probedAt } = probed;
      for (const one of [version, probedAt]) expect(one?.event?.sequence).toBe(last);
    }
  });
});

const textOf = ({ sequence, type }: Location): string => `${JSON.stringify(facts[sequence - 1])}${type}`;
const nodeIn = ({ sequence }: Location): string => entityOf(facts[sequence - 1] as Fact);

/** All values in plain data. */
function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}

const typeOf: Readonly<Record<string, string>> = {
  registered: 'ActionRegistered',
  finalized: 'ActionFinalized',
  approved: 'ActionApproved',
};
/** What the chain packs into its own bytes. */
const packed: ReadonlySet<string> = new Set(['metadata', 'file_name', 'public']);

/** How an event writes the new values of a field: a status as its type, all others as they are. */
const wordsOf = (name: string, values: readonly unknown[]): string[] =>
  packed.has(name)
    ? []
    : values.map((value) => (name === 'status' ? (typeOf[String(value)] ?? '') : JSON.stringify(value)));

const idAndType = (event: { id: string; type: string } | undefined) => ({ id: event?.id, type: event?.type });

describe('diff=', () => {
  it('is the JSON Patch that leads from one instant of a record to another', async () => {
    const nodes = (await rest.get('/v1/supernodes/metrics')).body.supernodes as { id: string }[];
    const anywhere = (): number => random.below(facts.length) + 1;
    const records: (readonly [string, () => number])[] = [
      ...actionIds
        .slice(0, 60)
        .map((id) => [`/v1/actions/${id}`, (): number => pickOf(sequencesOf('action', id))] as const),
      ...actionIds.slice(0, 5).map((id) => [`/v1/actions/${id}`, anywhere] as const),
      ...nodes.map(({ id }) => [`/v1/supernodes/${id}/metrics`, anywhere] as const),
    ];
    let changes = 0;
    for (const [path, instant] of records) {
      const [a, b] = [`ACTIONS:${instant()}`, `ACTIONS:${instant()}`];
      const [from, to, patch] = await Promise.all(
        [`as_of=${a}`, `as_of=${b}`, `as_of=${a}&diff=${b}`].map((query) => rest.get(`${path}?${query}`)),
      );
      const isThere = from?.status === 200 && to?.status === 200;
      expect([path, a, b, patch?.status]).toEqual([path, a, b, isThere ? 200 : 404]);
      if (!isThere) continue;
      expect(patch?.headers.get('content-type')).toMatch(/^application\/json-patch\+json/);
      expect(patch?.headers.get('annals-as-of')).toBe(to.headers.get('annals-as-of'));
      const operations = JSON.parse(patch?.text ?? '') as jsonPatch.Operation[];
      changes += operations.length;
      expect(jsonPatch.applyPatch(structuredClone(from.body), operations, true).newDocument).toEqual(to.body);
    }
    expect(changes).toBeGreaterThan(20);
  });

  it('refuses what names no two instants', async () => {
    const path = `/v1/actions/${actionIds[0]}`;
    const wrong = [
      ['diff=ACTIONS:1', 'INVALID_ARGUMENT'],
      [`as_of=ACTIONS:${facts.length}&diff=ACTIONS:1&explain=true`, 'INVALID_ARGUMENT'],
      ['as_of=ACTIONS:1&diff=yesterday', 'INVALID_INSTANT'],
      [`as_of=ACTIONS:${facts.length}&diff=ACTIONS:${facts.length + 1}`, 'BEYOND_HEAD'],
    ];
    for (const [query, code] of wrong)
      expect([query, (await rest.get(`${path}?${query}`)).body.code]).toEqual([query, code]);
    const same = `${path}?as_of=ACTIONS:${facts.length}&diff=ACTIONS:${facts.length}`;
    const answer = await rest.get(same);
    expect(answer.text).toBe('[]');
    const again = await rest.get(same, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('escapes names, and replaces what is no object', () => {
    const [from, to] = [
      { 'a/b~c': { x: 1, y: [1] }, gone: 1, same: null },
      { 'a/b~c': { x: 2, y: [1, 2] }, same: null, more: { z: [] } },
    ];
    expect(jsonPatch.applyPatch(structuredClone(from), asOperations(patchBetween(from, to))).newDocument).toEqual(to);
    expect(patchBetween({ a: 1 }, [1])).toEqual([{ op: 'replace', path: '', value: [1] }]);
    expect(asRecord(patchBetween(from, to)[0]).path).toBe('/a~1b~0c/x');
  });
});

const asOperations = (patch: ReturnType<typeof patchBetween>) => patch as readonly object[] as jsonPatch.Operation[];
