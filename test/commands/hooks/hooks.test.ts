import { describe, expect, it } from 'vitest';
import { administering, type HookAct } from '../../../src/commands/hooks/administering.ts';
import { delivering, type RecordedDeliveries } from '../../../src/commands/hooks/delivering.ts';
import { given } from '../../support/histories/given.ts';

const at = '2026-11-25T13:00:00.000Z';
const hook = 'hook1';
const filter = { url: 'https://example.org/', description: '', streams: ['ACTIONS', 'NODES'], types: [] };
const ends = [
  { stream: 'ACTIONS', sequence: 7 },
  { stream: 'NODES', sequence: 3 },
];
const register: HookAct = { act: 'register', hook, at, filter, key: 'k1', positions: ends };
const waiting = (stream: string, entity: string) => ({
  stream,
  kind: 'action',
  entity,
  sequence: 9,
  attempts: 2,
  since: at,
  nextAt: '2026-11-25T13:05:00.000Z',
});
const batch: RecordedDeliveries = {
  hook,
  at,
  epoch: 1,
  positions: [{ stream: 'ACTIONS', sequence: 9 }, ends[1] ?? { stream: '', sequence: 0 }],
  waiting: [],
  pausedUntil: undefined,
  delivered: 2,
  failed: 0,
  failures: [],
  end: undefined,
};
const [registered] = given(administering).when(register).facts;
if (!registered) throw new Error('Nothing was registered');
const failure = { event: 'e', stream: 'ACTIONS', sequence: 9, attempt: 1, at, status: 500, reason: 'answered 500' };

describe('deliveries of a webhook', () => {
  it('are one fact a batch, or two where some failed', () => {
    given(delivering, registered)
      .when(batch)
      .emits([{ type: 'DeliveriesMade', data: { delivered: 2, known: { delivered: 2, positions: batch.positions } } }]);
    const failed = { ...batch, failed: 1, failures: [failure], waiting: [waiting('ACTIONS', '1')] };
    expect(
      given(delivering, registered)
        .when(failed)
        .facts.map(({ type }) => type),
    ).toEqual(['DeliveriesMade', 'DeliveriesFailed']);
    expect(given(delivering, registered).when({ ...failed, delivered: 0 }).facts).toMatchObject([
      { type: 'DeliveriesFailed', data: { known: { failed: 1, lastFailure: failure } } },
    ]);
  });

  it('end with the hook, whose epoch rises', () => {
    given(delivering, registered)
      .when({ ...batch, end: 'gone' })
      .emits([
        { type: 'DeliveriesMade' },
        { type: 'HookDisabled', data: { reason: 'gone', known: { status: 'disabled', epoch: 2 } } },
      ]);
  });

  it('count no more once an operator has changed or disabled the hook', () => {
    const [replayed] = given(administering, registered).when({ act: 'replay', hook, at, positions: ends }).facts;
    const [disabled] = given(administering, registered).when({ act: 'disable', hook, at }).facts;
    for (const fact of [replayed, disabled]) if (fact) expect(given(delivering, fact).when(batch).facts).toEqual([]);
    expect(given(delivering).when(batch).facts).toEqual([]);
  });
});

describe('acts on a webhook', () => {
  const [failing] = given(delivering, registered).when({
    ...batch,
    delivered: 0,
    failed: 1,
    failures: [failure],
    waiting: [waiting('ACTIONS', '1'), waiting('NODES', 'n')],
  }).facts;
  if (!failing) throw new Error('Nothing failed');

  it('register it once, and remove it for good', () => {
    expect(given(administering, registered).when(register).facts).toEqual([]);
    given(administering, registered).when({ act: 'remove', hook, at }, { act: 'enable', hook, at }, register).emits([]);
  });

  it('replay one stream: its position is replaced, and what waits of it is due by that', () => {
    const positions = [{ stream: 'ACTIONS', sequence: 0 }];
    given(administering, failing)
      .when({ act: 'replay', hook, at, positions })
      .emits([{ data: { known: { positions: [{ sequence: 0 }, { sequence: 3 }], waiting: [{ stream: 'NODES' }] } } }]);
  });

  it('change its streams: a new one starts at its end, one that is left is forgotten', () => {
    const positions = [
      { stream: 'ACTIONS', sequence: 50 },
      { stream: 'PEERS', sequence: 60 },
    ];
    given(administering, failing)
      .when({ act: 'change', hook, at, filter: { streams: ['ACTIONS', 'PEERS'] }, positions })
      .emits([
        {
          data: {
            known: {
              positions: [
                { stream: 'ACTIONS', sequence: 9 },
                { stream: 'PEERS', sequence: 60 },
              ],
              waiting: [{ stream: 'ACTIONS' }],
            },
          },
        },
      ]);
  });

  it('enable it: what waits is due at once, its attempts counted anew', () => {
    given(administering, failing)
      .when({ act: 'disable', hook, at }, { act: 'enable', hook, at })
      .emits([{ data: { known: { status: 'enabled', waiting: [{ attempts: 0, nextAt: at }, { attempts: 0 }] } } }]);
  });

  it('rotate its secret: the one before signs too, unless the key behind it is another', () => {
    const previousUntil = '2026-11-26T13:00:00.000Z';
    given(administering, registered)
      .when({ act: 'rotate', hook, at, key: 'k1', previousUntil })
      .emits([{ data: { known: { secret: 2, previousUntil } } }]);
    const { state } = given(administering, registered).when({ act: 'rotate', hook, at, key: 'k2', previousUntil });
    expect(state).not.toHaveProperty('previousUntil');
  });
});
