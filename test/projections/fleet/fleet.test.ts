import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { CascadeChain } from '../../../src/edges/chain/files/chain.ts';
import { availableFirst } from '../../../src/edges/gateway/nodes/candidates.ts';
import {
  listSuperNodes,
  type CurrentState,
  type FleetFilter,
  superNodeById,
  unavailableNodes,
} from '../../../src/projections/fleet/fleet.ts';
import { fleetStats, nodesToRank, paymentsOf, versionsInUse } from '../../../src/projections/fleet/fleet-stats.ts';
import { actionStatsByNode } from '../../../src/projections/actions/node-actions.ts';
import { listActions } from '../../../src/projections/actions/action-list.ts';
import type { Reading } from '../../../src/projections/reading.ts';
import { nodesThatFit, ownerOf, type World, worldOf } from '../../support/expected/brute-force.ts';
import { actionFacts, nodeFacts, transactionAt } from '../../support/histories/facts.ts';
import { loadReading } from '../../support/histories/load-projection.ts';
import { operators, randomHistory } from '../../support/histories/random-history.ts';

const states: (CurrentState | undefined)[] = [
  undefined,
  ...['active', 'stopped', 'disabled'].map((value): CurrentState => ({ family: 'supernode', value })),
  ...['bonded', 'unbonding', 'unbonded'].map((value): CurrentState => ({ family: 'validator', value })),
  { family: 'jailed' },
];
const everyFilter: FleetFilter[] = ([undefined, 'available', 'unavailable'] as const).flatMap((status) =>
  states.flatMap((currentState) =>
    [undefined, 'v2.5.0', 'v9'].flatMap((version) =>
      [undefined, 0, 2].map((minFailedProbeCounter) => ({ status, currentState, version, minFailedProbeCounter })),
    ),
  ),
);

describe.each([1, 2, 3, 4])('of random history %i', (seed) => {
  let world: World;
  let reading: Reading;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const history = randomHistory(seed, { actions: 120 });
    world = worldOf(history);
    ({ reading, close } = await loadReading(history));
  });
  afterAll(async () => await close());

  it('listSuperNodes gives every node that fits once, bytewise by id, with an exact total', async () => {
    for (const filter of everyFilter) {
      const ids: string[] = [];
      for (let hasMore = true; hasMore;) {
        const page = await listSuperNodes(reading, { ...filter, after: ids.at(-1), limit: 2 });
        ids.push(...page.rows.map(({ id }) => id));
        hasMore = page.hasMore;
        expect(page.total).toBe(nodesThatFit(world, filter).length);
      }
      expect(ids, JSON.stringify(filter)).toEqual(nodesThatFit(world, filter));
    }
  });

  it('superNodeById joins record, latest probe and validator', async () => {
    for (const operator of operators) {
      const found = await superNodeById(reading, operator);
      const node = world.nodes.find(({ id }) => id === operator);
      const validator = world.validators.get(operator);
      const unprobed = {
        available: false,
        failed_probe_counter: 0,
        last_seen_at: null,
        version: null,
        services: [],
        storage_total_gb: null,
      };
      if (!node) expect(found).toBeUndefined();
      else expect(found).toMatchObject({ ...node, ...(world.availability.get(operator) ?? unprobed) });
      if (node)
        expect(found).toMatchObject({ validator_status: validator?.status ?? null, jailed: validator?.jailed ?? null });
    }
    expect(await superNodeById(reading, 'nobody')).toBeUndefined();
  });

  it('the gateway tries those last that were found unavailable', { tags: ['S3.nodes.available'] }, async () => {
    const all = world.nodes.map(({ account }) => ({ account, ip: '8.8.8.8', port: 4444 }));
    const storers = async () => await Promise.resolve({ nodes: all, total: all.length });
    const chain = { storers } as Partial<CascadeChain> as CascadeChain;
    const { nodes } = await availableFirst(chain, { reader: { read: async (use) => await use(reading) } }).storers(1);
    const isLast = (account: string) =>
      world.nodes.some((node) => node.account === account && world.availability.get(node.id)?.available === false);
    const accounts = all.map(({ account }) => account);
    const wanted = [...accounts.filter((one) => !isLast(one)), ...accounts.filter(isLast)];
    expect(nodes.map(({ account }) => account)).toEqual(wanted);
    const away = async () => await Promise.reject(new AppError('UNAVAILABLE', 'No database'));
    expect((await availableFirst(chain, { reader: { read: away } }).storers(1)).nodes).toEqual(all);
  });

  it('unavailableNodes lists those that are not available', async () => {
    for (const currentState of states) {
      const ids = (await unavailableNodes(reading, currentState)).map(({ id }) => id);
      expect(ids).toEqual(nodesThatFit(world, { status: 'unavailable', currentState }));
    }
  });

  it('fleetStats and versionsInUse sum up listed nodes', async () => {
    const probes = world.nodes.flatMap(({ id }) => world.availability.get(id) ?? []);
    const up = probes.filter(({ available }) => available);
    const cpu = up.flatMap(({ cpu_usage_percent }) => cpu_usage_percent ?? []);
    const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0);
    const stats = await fleetStats(reading);
    expect(stats).toEqual({
      total: world.nodes.length,
      available: up.length,
      unavailable: world.nodes.length - up.length,
      avg_cpu_usage_percent: expect.closeTo(cpu.length > 0 ? sum(cpu) / cpu.length : 0, 9),
      storage_total_gb: sum(up.map((row) => row.storage_total_gb)),
      memory_total_gb: sum(up.map((row) => row.memory_total_gb)),
    });
    const versions = probes.flatMap(({ version, available }) => (version === null ? [] : `${version} ${available}`));
    const found = await versionsInUse(reading);
    expect(found.map(({ version, available }) => `${version} ${available}`)).toEqual([...new Set(versions)].toSorted());
    expect(new Map((await nodesToRank(reading)).map((node) => [node.operator, node.state]))).toEqual(
      new Map(world.nodes.map((node) => [node.id, node.state])),
    );
  });

  it('actionStatsByNode counts what the list shows for every listed operator', async () => {
    const found = await actionStatsByNode(reading);
    expect(found.map(({ id }) => id)).toEqual(nodesThatFit(world, {}));
    for (const { id, cascade, sense } of found) {
      const total = async (type: string) =>
        (await listActions(reading, { type, supernode: { operator: id }, limit: 1 })).total;
      expect({ id, cascade, sense }).toEqual({ id, cascade: await total('cascade'), sense: await total('sense') });
    }
  });

  it('paymentsOf sums amounts of any size and counts transactions, by the owner at the height of the payment', async () => {
    for (const operator of operators) {
      const own = world.actions
        .flatMap(({ payments }) => payments)
        .filter(({ account, height }) => ownerOf(world.nodes, account, height) === operator);
      const denoms = [...new Set(own.map(({ denom }) => denom))].toSorted();
      const expected = denoms.map((denom) => {
        const paid = own.filter((payment) => payment.denom === denom);
        const amount = String(paid.reduce((all, payment) => all + BigInt(payment.amount), 0n));
        return { denom, amount, transactions: new Set(paid.map(({ tx_hash }) => tx_hash)).size };
      });
      expect(await paymentsOf(reading, { operator }), operator).toEqual(expected);
    }
  });
});

describe('an account of two operators', () => {
  const moving = { account: 'moving', height: 10 };
  const late = nodeFacts('late').listed({ accounts: [{ account: 'moving', height: 30 }] });
  const work = [5, 20, 35, 50].flatMap((height) => {
    const { registered, finalized } = actionFacts(String(height));
    const payments = [{ account: 'moving', denom: 'ulume', amount: String(height) }];
    return [registered({ height }), finalized({ accounts: ['moving'], payments, transaction: transactionAt(height) })];
  });

  it.each([
    ['moved', [moving, { account: 'other', height: 30 }]],
    ['is claimed by both to this day', [moving]],
    ['was given up before the other began', [moving, { account: 'other', height: 25 }]],
  ])('counts once, for the later claim that has begun, else for the nearest: %s', async (_case, accounts) => {
    const { reading, close } = await loadReading([nodeFacts('early').listed({ accounts }), late, ...work]);
    const ids = async (operator: string) => {
      const { rows, total } = await listActions(reading, { supernode: { operator }, limit: 9 });
      expect(total).toBe(rows.length);
      return rows.map(({ id }) => id);
    };
    expect(await ids('early')).toEqual(['20', '5']);
    expect(await ids('late')).toEqual(['50', '35']);
    expect(await actionStatsByNode(reading)).toEqual([
      { id: 'early', cascade: 2, sense: 0 },
      { id: 'late', cascade: 2, sense: 0 },
    ]);
    expect(await paymentsOf(reading, { operator: 'early' })).toEqual([
      { denom: 'ulume', amount: '25', transactions: 2 },
    ]);
    expect(await paymentsOf(reading, { operator: 'late' })).toEqual([
      { denom: 'ulume', amount: '85', transactions: 2 },
    ]);
    await close();
  });
});

describe('an operator whose accounts are told out of order', () => {
  it('has one account at a time, so that an action of two of them counts once', async () => {
    const accounts = [
      { account: 'first', height: 1 },
      { account: 'third', height: 50 },
      { account: 'second', height: 20 },
    ];
    const { registered, finalized } = actionFacts('1');
    const work = finalized({ accounts: ['first', 'second', 'third'], transaction: transactionAt(30) });
    const { reading, close } = await loadReading([nodeFacts('one').listed({ accounts }), registered(), work]);
    expect(await actionStatsByNode(reading)).toEqual([{ id: 'one', cascade: 1, sense: 0 }]);
    const { rows, total } = await listActions(reading, { supernode: { operator: 'one' }, limit: 9 });
    expect({ ids: rows.map(({ id }) => id), total }).toEqual({ ids: ['1'], total: 1 });
    await close();
  });
});
