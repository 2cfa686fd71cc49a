import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ActionFilter, listActions, operatorsOf } from '../../../src/projections/actions/action-list.ts';
import { actionById, actionStats } from '../../../src/projections/actions/action-stats.ts';
import type { Reading } from '../../../src/projections/reading.ts';
import { filtered, finalizedAt, ownerOf, type World, worldOf } from '../../support/expected/brute-force.ts';
import { timeOf } from '../../support/histories/facts.ts';
import { loadReading } from '../../support/histories/load-projection.ts';
import {
  accounts,
  creators,
  hashes,
  kinds,
  operators,
  randomHistory,
  seeded,
} from '../../support/histories/random-history.ts';

const types = [undefined, ...kinds];
const states = [undefined, 'registered', 'finalized', 'approved'];
const makers = [undefined, ...creators, 'nobody'];
const workers = [
  undefined,
  ...accounts.map((account) => ({ account })),
  ...operators.map((operator) => ({ operator })),
  { account: 'nobody' },
  { operator: 'nobody' },
];
const ranges = [
  {},
  { fromHeight: 20_000 },
  { toHeight: 33_000 },
  { toHeight: 9000 },
  { fromHeight: 12_000, toHeight: 12_000 },
  { fromHeight: 10_000, toHeight: 40_000 },
  { fromHeight: 16_384, toHeight: 49_151 },
];

const everyFilter: ActionFilter[] = types.flatMap((type) =>
  states.flatMap((state) =>
    makers.flatMap((creator) =>
      workers.flatMap((supernode) => ranges.map((range) => ({ type, state, creator, supernode, ...range }))),
    ),
  ),
);

const withoutRange = everyFilter.filter(
  ({ fromHeight, toHeight }) => fromHeight === undefined && toHeight === undefined,
);

describe.each([1, 2, 3])('of random history %i', (seed) => {
  let world: World;
  let reading: Reading;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const history = randomHistory(seed, { actions: 150 });
    world = worldOf(history);
    ({ reading, close } = await loadReading(history));
  });
  afterAll(async () => await close());

  const someFilters = (share: number) => {
    const random = seeded(seed);
    return everyFilter.filter(() => random.chance(share));
  };
  const walk = async (filter: ActionFilter, limit: number) => {
    const ids: string[] = [];
    for (let hasMore = true; hasMore;) {
      const page = await listActions(reading, { ...filter, limit, after: ids.at(-1) });
      ids.push(...page.rows.map(({ id }) => id));
      hasMore = page.hasMore;
      expect(page.total).toBe(filtered(world, filter).length);
      expect(page.rows.length).toBe(hasMore ? limit : page.rows.length);
    }
    return ids;
  };

  it('listActions gives the newest that match and an exact total for every combination of filters', async () => {
    for (const filter of seed === 1 ? withoutRange : someFilters(0.1)) {
      const expected = filtered(world, filter).map(({ id }) => id);
      const { rows, total, hasMore } = await listActions(reading, { ...filter, limit: 4 });
      const found = { ids: rows.map(({ id }) => id), total, hasMore };
      expect(found, JSON.stringify(filter)).toEqual({
        ids: expected.slice(0, 4),
        total: expected.length,
        hasMore: expected.length > 4,
      });
    }
  });

  it('listActions gives the actions with any of some data hashes, with every other filter', async () => {
    for (const filter of [{}, ...someFilters(0.05)])
      for (const dataHash of [hashes.slice(0, 1), hashes.slice(1, 5), ['nothing']]) {
        const expected = filtered(world, { ...filter, dataHash }).map(({ id }) => id);
        expect(await walk({ ...filter, dataHash }, 7), JSON.stringify(filter)).toEqual(expected);
      }
  });

  it('listActions gives each match once over all pages', async () => {
    for (const filter of [{}, ...someFilters(0.02)]) {
      const expected = filtered(world, filter).map(({ id }) => id);
      expect(await walk(filter, 7), JSON.stringify(filter)).toEqual(expected);
      expect(await walk(filter, Math.max(expected.length, 1))).toEqual(expected);
    }
  });

  it('listActions shows the head of each row, actionById the whole', async () => {
    const { rows } = await listActions(reading, { limit: 200 });
    expect(rows).toHaveLength(world.actions.length);
    for (const [at, row] of filtered(world, {}).entries()) {
      expect({ ...row, ...rows[at] }).toEqual({ ...rows[at], ...row });
      expect(await actionById(reading, row.id)).toMatchObject(row);
    }
  });

  it('actionById knows no id that is written in another way', async () => {
    const { id = '' } = world.actions[5] ?? {};
    for (const other of [`0${id}`, `${id}.0`, `+${id}`, '-1', '', 'x', `${id} `, '1e3', '9'.repeat(60)]) {
      expect(await actionById(reading, other), other).toBeUndefined();
    }
  });

  it('operatorsOf names the owners of the accounts at the time', async () => {
    for (const row of world.actions) {
      const owners = row.accounts.flatMap((account) => ownerOf(world.nodes, account, finalizedAt(row)) ?? []);
      expect(await operatorsOf(reading, row), row.id).toEqual(
        [...new Set(owners)].toSorted((a, b) => (a < b ? -1 : 1)),
      );
    }
  });

  it('actionStats equals the totals of the list, with and without a type', async () => {
    for (const type of types) {
      const stats = await actionStats(reading, { type });
      const total = async (filter: ActionFilter) => (await listActions(reading, { type, ...filter, limit: 1 })).total;
      const ofType = async (one: string) => ((type ?? one) === one ? await total({ type: one }) : 0);
      expect(stats).toEqual({
        total: await total({}),
        cascade: await ofType('cascade'),
        sense: await ofType('sense'),
        registered: await total({ state: 'registered' }),
        finalized: await total({ state: 'finalized' }),
        approved: await total({ state: 'approved' }),
        expired: filtered(world, { type }).filter(({ chain_state }) => chain_state === 'expired').length,
      });
      expect(stats.registered + stats.finalized + stats.approved).toBe(stats.total);
    }
  });

  it('actionStats counts what was created inside a window, both ends included, and nothing of unknown time', async () => {
    const windows = [
      { from: timeOf(20_000) },
      { to: timeOf(20_000) },
      { from: timeOf(12_000), to: timeOf(12_000) },
      { from: timeOf(5000), to: timeOf(40_000) },
      { from: '2026-01-03T00:00:00Z', to: '2026-01-21T23:59:59Z' },
      { from: timeOf(30_000), to: timeOf(5000) },
    ];
    for (const window of windows) {
      const inWindow = ({ created_at }: { created_at: string | null }) =>
        created_at !== null && created_at >= (window.from ?? '') && created_at <= (window.to ?? '9');
      for (const type of types) {
        const rows = filtered(world, { type }).filter(inWindow);
        const count = (fits: (row: (typeof rows)[number]) => boolean) => rows.filter(fits).length;
        expect(await actionStats(reading, { type, ...window })).toEqual({
          total: rows.length,
          cascade: count((row) => row.type === 'cascade'),
          sense: count((row) => row.type === 'sense'),
          registered: count((row) => row.status === 'registered'),
          finalized: count((row) => row.status === 'finalized'),
          approved: count((row) => row.status === 'approved'),
          expired: count((row) => row.chain_state === 'expired'),
        });
      }
    }
  });
});

describe('listActions of nothing', () => {
  it('has no rows and a total of 0', async () => {
    const { reading, close } = await loadReading([]);
    for (const filter of [{}, { type: 'sense' }, { supernode: { operator: 'op-A' } }]) {
      expect(await listActions(reading, { ...filter, limit: 5 })).toEqual({ rows: [], total: 0, hasMore: false });
    }
    expect(await actionStats(reading, {})).toMatchObject({ total: 0, expired: 0 });
    await close();
  });
});
