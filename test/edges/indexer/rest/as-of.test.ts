import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { seeded } from '../../../support/histories/random-history.ts';
import { historyOf, operator, paths } from '../freshness/mixed-history.ts';
import { type Answer, pastOf, type RestServer, startRest } from './rest-server.ts';
import { sample } from './sample.ts';

const asOf = (path: string, instant: string): string => `${path}${path.includes('?') ? '&' : '?'}as_of=${instant}`;
/** A cursor names its instant, so that of the past is another one. */
const bodyOf = ({ status, body: { cursor, ...rest } }: Answer): unknown => ({
  status,
  ...rest,
  hasMore: cursor !== undefined,
});

/** The same with ids so far apart that they fill some blocks of counters. */
const wide = (facts: readonly Fact[]): Fact[] =>
  facts.map((fact) => {
    const { data } = fact;
    return 'action' in data ? ({ ...fact, data: { ...data, action: `${Number(data.action) * 12}` } } as Fact) : fact;
  });

/** The same with the last fact of every seventh action at the end of all. */
function withLate(facts: readonly Fact[]): Fact[] {
  const last = new Map(facts.flatMap((fact) => ('action' in fact.data ? [[fact.data.action, fact]] : [])));
  const late = new Set([...last.values()].filter((fact, at) => at % 7 === 0 && fact.type !== 'ActionRegistered'));
  return [...facts.filter((fact) => !late.has(fact)), ...late];
}

/** Positions that are compared, at random places of some histories; a longer run says more. */
const positions = Number(process.env['AS_OF_POSITIONS'] ?? 10);
const histories = Math.max(2, Math.ceil(positions / 50));
const seeds = Array.from({ length: histories }, (_, at) => 1 + at);
const timeout = 150_000 + (positions / histories) * 10_000;

describe('as_of', () => {
  it.each(seeds)('answers every read as an API over the prefix does, history %i', { timeout }, async (seed) => {
    const facts = historyOf(seed);
    const random = seeded(seed);
    const rest = await startRest(facts);
    const ids = [...new Set(facts.flatMap(({ data }) => ('action' in data ? [data.action] : [])))];
    const all = [...paths, ...ids.map((id) => `/v1/actions/${id}`)];
    try {
      for (const length of [
        0,
        facts.length,
        ...Array.from({ length: positions / histories }, () => random.below(facts.length)),
      ]) {
        const prefix = await startRest(facts.slice(0, length));
        const answers = async (of: RestServer, pathOf: (path: string) => string) =>
          await Promise.all(all.map(async (path) => [path, length, bodyOf(await of.get(pathOf(path)))]));
        const past = await answers(rest, (path) => asOf(path, `ACTIONS:${length}`));
        const then = await answers(prefix, (path) => path).finally(() => void prefix.close());
        for (const [at, answer] of past.entries()) expect(answer).toEqual(then[at]);
      }
    } finally {
      await rest.close();
    }
  });

  it('counts by ids where actions are many, as an API over the prefix does', { timeout }, async () => {
    const facts = withLate(wide(historyOf(3, 900)));
    const rest = await startRest(facts);
    try {
      for (const length of [facts.length - 40, 2100]) {
        const prefix = await startRest(facts.slice(0, length));
        const [past, then] = [[], []] as [unknown[], unknown[]];
        for (const path of paths) {
          past.push([path, bodyOf(await rest.get(asOf(path, `ACTIONS:${length}`)))]);
          then.push([path, bodyOf(await prefix.get(path))]);
        }
        expect(past).toEqual(then);
        await prefix.close();
      }
    } finally {
      await rest.close();
    }
  });

  it('keeps the instant in cursors, names it in headers, and is the plain answer at the head', async () => {
    const facts = historyOf(4);
    const rest = await startRest(facts);
    const half = Math.floor(facts.length / 2);
    try {
      const first = await rest.get(asOf('/v1/actions?limit=2', `ACTIONS:${half}`));
      const token = first.headers.get('annals-as-of') ?? '';
      expect(first.headers.get('memento-datetime')).toMatch(/ GMT$/);
      const next = await rest.get(`/v1/actions?limit=2&cursor=${String(first.body.cursor)}`);
      expect(next.headers.get('annals-as-of')).toBe(token);
      expect(next.body.total).toBe(first.body.total);
      const named = await rest.get(asOf(`/v1/actions?limit=2&cursor=${String(first.body.cursor)}`, token));
      expect(named.text).toBe(next.text);
      const plain = await rest.get('/v1/actions/stats');
      const head = plain.headers.get('annals-position') ?? '';
      expect((await rest.get(asOf('/v1/actions/stats', head))).text).toBe(plain.text);
      const memento = { headers: { 'accept-datetime': first.headers.get('memento-datetime') ?? '' } };
      const [id] = (next.body.actions as { id: string }[]).map((action) => action.id);
      const byDate = await rest.get(`/v1/actions/${id}`, memento);
      expect(byDate.text).toBe((await rest.get(asOf(`/v1/actions/${id}`, `ACTIONS:${half}`))).text);
      // The same address without that header is the head, which nothing advanced since.
      const actionsOf = (some: readonly Fact[]) => some.flatMap(({ data }) => ('action' in data ? [data.action] : []));
      const before = actionsOf(facts.slice(0, half));
      const changed = `/v1/actions/${actionsOf(facts.slice(half)).find((one) => before.includes(one))}`;
      const [then, now] = [await rest.get(changed, memento), await rest.get(changed)];
      expect(now.text).not.toBe(then.text);
      expect(now.text).toBe((await rest.get(asOf(changed, `ACTIONS:${facts.length}`))).text);
    } finally {
      await rest.close();
    }
  });

  it('lists the versions of a record, one for each of its events, and answers each', async () => {
    const facts = historyOf(4);
    const rest = await startRest(facts);
    try {
      const { body } = await rest.get('/v1/actions?state=approved&limit=1');
      const [{ id } = { id: '' }] = body.actions as { id: string }[];
      const own = facts.flatMap(({ data }, at) =>
        'action' in data && data.action === id ? [`ACTIONS:${at + 1}`] : [],
      );
      const answer = await rest.get(`/v1/actions/${id}/versions`);
      expect(answer.body).toMatchObject({ id, total: own.length });
      const versions = answer.body.versions as { as_of: string; until: string | null; url: string }[];
      expect(versions.map((one) => one.as_of)).toEqual(own.toReversed());
      expect(versions.map((one) => one.until)).toEqual([null, ...own.toReversed().slice(0, -1)]);
      const first = await rest.get(versions.at(-1)?.url ?? '');
      expect(first.body).toMatchObject({ id, status: 'registered' });
      const early = await rest.get(asOf(`/v1/actions/${id}/versions`, own[0] ?? ''));
      expect(early.body).toMatchObject({ total: 1, versions: [{ as_of: own[0], until: null }] });
      expect((await rest.get(`/v1/supernodes/${operator}/versions`)).body.total).toBeGreaterThan(0);
      expect(await rest.get('/v1/actions/nothing/versions')).toMatchObject({ status: 404 });
    } finally {
      await rest.close();
    }
  });

  it('refuses what is no instant of this log by a code for each way', async () => {
    const facts = historyOf(4);
    const forgets = { ...pastOf(facts), hasForgotten: async () => true };
    const late = { ...forgets, head: async () => ({ ...(await forgets.head('PROBES')), firstSequence: 50 }) };
    const [rest, forgetful] = [await startRest(facts), await startRest(facts, { past: late })];
    const token = (incarnation: string) =>
      Buffer.from(JSON.stringify({ ACTIONS: [incarnation, 3] })).toString('base64url');
    try {
      const cursor = String((await rest.get('/v1/actions?limit=2')).body.cursor);
      const asked: readonly (readonly [RestServer, string, number, string])[] = [
        [rest, asOf('/v1/actions', 'yesterday'), 400, 'INVALID_INSTANT'],
        [rest, asOf('/v1/actions', 'TRANSFERS:1'), 400, 'INVALID_INSTANT'],
        [rest, asOf('/v1/actions', '2999-01-01T00:00:00Z'), 400, 'NOT_YET'],
        [rest, asOf('/v1/actions', `ACTIONS:${facts.length + 1}`), 400, 'BEYOND_HEAD'],
        [rest, asOf('/v1/actions', token('2020-01-01T00:00:00Z')), 400, 'FOREIGN_POSITION'],
        [rest, asOf(`/v1/actions?limit=2&cursor=${cursor}`, 'ACTIONS:9'), 400, 'OTHER_INSTANT'],
        [forgetful, asOf('/v1/supernodes/stats', 'PROBES:3'), 410, 'FORGOTTEN'],
      ];
      for (const [server, path, status, code] of asked)
        expect([path, await server.get(path)], path).toMatchObject([path, { status, body: { code } }]);
      for (const time of ['yesterday', 'Sat, 31 Feb 2026 12:00:00 GMT', 'Sun, 31 Jan 2026 12:00:00 GMT']) {
        const odd = await rest.get('/v1/actions/1', { headers: { 'accept-datetime': time } });
        expect([time, odd]).toMatchObject([time, { status: 400, body: { code: 'INVALID_INSTANT' } }]);
      }
    } finally {
      await Promise.all([rest.close(), forgetful.close()]);
    }
  });

  it('is refused where there is no answer of the past, and never answered as of now', async () => {
    const rest = await startRest(sample);
    try {
      const document = (await rest.get('/openapi.json')).body as { paths: Readonly<Record<string, Described>> };
      const timeless = Object.entries(document.paths)
        .filter(([path, { get }]) => path.startsWith('/v1/') && get && !get.parameters?.some(isAsOf))
        .map(([path]) => path.replace(/\{\w+\}/, '1'));
      expect(timeless).toContain('/v1/incidents');
      for (const path of timeless) {
        const answer = await rest.get(asOf(path, 'ACTIONS:1'));
        expect([path, answer]).toMatchObject([path, { status: 400, body: { code: 'INVALID_ARGUMENT' } }]);
      }
    } finally {
      await rest.close();
    }
  });
});

type Described = Readonly<{ get?: Readonly<{ parameters?: readonly Readonly<{ name: string }>[] }> }>;
const isAsOf = ({ name }: Readonly<{ name: string }>): boolean => name === 'as_of';
