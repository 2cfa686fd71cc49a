import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actionFacts, nodeFacts, timeOf, transactionAt } from '../../../support/histories/facts.ts';
import { askOnce, asRecords, idsOf, type RestServer, startRest } from './rest-server.ts';
import { alpha, beta, delta, gamma, newAccount, sample } from './sample.ts';

let rest: RestServer;
beforeAll(async () => void (rest = await startRest(sample)));
afterAll(async () => await rest.close());

describe('GET /v1/supernodes/{id}/paymentInfo', () => {
  it(
    'adds up what its accounts, present and former, were paid',
    {
      tags: [
        'S2.payment.route',
        'S2.payment.id',
        'S2.payment.payments',
        'S2.payment.denom',
        'S2.payment.total_amount',
        'S2.payment.payment_count',
        'S2.open.nodes.paymentInfo',
      ],
    },
    async () => {
      const { body } = await rest.get(`/v1/supernodes/${alpha}/paymentInfo`);
      expect(body).toEqual({ id: alpha, payments: [{ denom: 'ulume', total_amount: '19778', payment_count: 2 }] });
      expect((await rest.get(`/v1/supernodes/${delta}/paymentInfo`)).body).toEqual({ id: delta, payments: [] });
    },
  );

  it(
    'takes amounts of any size and counts transactions, denomination by denomination',
    { tags: ['S2.payment.total_amount', 'S2.payment.payment_count', 'S2.open.nodes.paymentInfo'] },
    async () => {
      const big = '123456789012345678901234567890';
      const paid = (action: string, denom: string, again?: true) =>
        actionFacts(action).finalized({
          accounts: [newAccount],
          payments: [{ account: newAccount, denom, amount: big, ...(again ? { again } : {}) }],
          transaction: transactionAt(9),
        });
      const { body } = await askOnce(`/v1/supernodes/${alpha}/paymentInfo`, [
        nodeFacts(alpha).listed({ accounts: [{ account: newAccount, height: 1 }] }),
        ...['1', '2', '3'].map((action) => actionFacts(action).registered()),
        paid('1', 'ulume'),
        paid('2', 'ulume', true),
        paid('3', 'aother'),
      ]);
      expect(body.payments).toEqual([
        { denom: 'aother', total_amount: big, payment_count: 1 },
        { denom: 'ulume', total_amount: String(BigInt(big) * 2n), payment_count: 1 },
      ]);
    },
  );
});

describe('GET /v1/supernodes/stats', () => {
  it(
    'averages and sums over available nodes',
    {
      tags: [
        'S2.fleet.route',
        'S2.fleet.total_supernodes',
        'S2.fleet.available_count',
        'S2.fleet.unavailable_count',
        'S2.fleet.avg_cpu_usage_percent',
        'S2.fleet.total_storage_tb',
        'S2.fleet.total_memory_gb',
        'S2.open.nodes.stats',
      ],
    },
    async () => {
      expect((await rest.get('/v1/supernodes/stats')).body).toEqual({
        total_supernodes: 4,
        available_count: 2,
        unavailable_count: 2,
        avg_cpu_usage_percent: 15,
        total_storage_tb: 3,
        total_memory_gb: 64,
      });
    },
  );

  it('is 0 where no node is available', { tags: ['S2.open.nodes.stats'] }, async () => {
    const { body } = await askOnce('/v1/supernodes/stats', [nodeFacts(alpha).listed()]);
    expect(body).toEqual({
      total_supernodes: 1,
      available_count: 0,
      unavailable_count: 1,
      avg_cpu_usage_percent: 0,
      total_storage_tb: 0,
      total_memory_gb: 0,
    });
  });
});

describe('GET /v1/supernodes/action-stats', () => {
  it(
    'counts what each node finalized, zeros too',
    {
      tags: [
        'S2.node-actions.route',
        'S2.node-actions.id',
        'S2.node-actions.cascade_count',
        'S2.node-actions.sense_count',
        'S2.node-actions.total_count',
        'S2.open.nodes.action-stats',
        'S2.open.nodes.order',
      ],
    },
    async () => {
      expect((await rest.get('/v1/supernodes/action-stats')).body).toEqual({
        supernodes: [
          { id: alpha, cascade_count: 2, sense_count: 0, total_count: 2 },
          { id: beta, cascade_count: 2, sense_count: 2, total_count: 4 },
          { id: gamma, cascade_count: 0, sense_count: 0, total_count: 0 },
          { id: delta, cascade_count: 0, sense_count: 0, total_count: 0 },
        ],
      });
    },
  );
});

describe('GET /v1/supernodes/unavailable', () => {
  it(
    'lists nodes whose latest probe did not pass',
    {
      tags: [
        'S2.unavailable.route',
        'S2.unavailable.id',
        'S2.unavailable.ip',
        'S2.unavailable.failed_probe_counter',
        'S2.unavailable.last_seen_at',
        'S2.open.nodes.unavailable',
      ],
    },
    async () => {
      expect((await rest.get('/v1/supernodes/unavailable')).body).toEqual({
        supernodes: [
          { id: gamma, ip: '2001:db8::1', failed_probe_counter: 3, last_seen_at: timeOf(2) },
          { id: delta, ip: 'not an address', failed_probe_counter: 0, last_seen_at: null },
        ],
      });
    },
  );

  it('filters by state', { tags: ['S2.unavailable.currentState', 'S2.open.nodes.currentState'] }, async () => {
    const found = async (state: string) => await rest.get(`/v1/supernodes/unavailable?currentState=${state}`);
    expect(idsOf((await found('postponed')).body.supernodes)).toEqual([gamma]);
    expect(idsOf((await found('jailed')).body.supernodes)).toEqual([]);
    expect((await found('x')).status).toBe(400);
    expect(asRecords((await found('unbonded')).body.supernodes)).toHaveLength(1);
  });
});
