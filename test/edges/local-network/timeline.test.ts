import { describe, expect, test } from 'vitest';
import { castOf } from '../../../src/edges/local-network/cast.ts';
import { messagesOf } from '../../../src/edges/local-network/deeds.ts';
import { randomOf } from '../../../src/edges/local-network/random.ts';
import { historySpanMs, type TimedDeed, timeline } from '../../../src/edges/local-network/timeline.ts';

function first(seed: number, count: number): TimedDeed[] {
  const steps = timeline(seed);
  return Array.from({ length: count }, () => steps.next().value);
}

describe('timeline', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(first(1, 500)).toEqual(first(1, 500));
    expect(first(2, 500)).not.toEqual(first(1, 500));
  });

  test('begins with six nodes and a history of about thirty actions in which everything happens', () => {
    const history = first(1, 500).filter(({ isHistory }) => isHistory);
    const kinds = new Set(history.map(({ deed }) => deed.kind));
    expect(kinds).toEqual(
      new Set(['register-node', 'stop-node', 'deregister-node', 'register', 'finalize', 'finalize-wrongly', 'approve']),
    );
    const registrations = history.flatMap(({ deed }) => (deed.kind === 'register' ? [deed.registrations] : []));
    expect(registrations.flat().length).toBeGreaterThanOrEqual(28);
    expect(registrations.some((together) => together.length === 2)).toBe(true);
    expect(history.at(-1)?.atMs).toBe(historySpanMs(1));
  });

  test('numbers actions from 1 and finalizes none before it is registered', () => {
    const registered = new Set<number>();
    for (const { deed } of first(3, 1000)) {
      if (deed.kind === 'register') for (const { id } of deed.registrations) expect(id).toBe(registered.add(id).size);
      if (deed.kind === 'finalize') for (const { id } of deed.actions) expect(registered).toContain(id);
      if (deed.kind === 'approve') expect(registered).toContain(deed.action.id);
    }
  });

  test('lets something happen every 3 to 12 seconds once its history is over', () => {
    const live = first(1, 600).filter(({ isHistory }) => !isHistory);
    const gaps = live.slice(1).map(({ atMs }, index) => atMs - (live[index]?.atMs ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(12_000);
    const kinds = new Set(live.map(({ deed }) => deed.kind));
    expect(kinds).toEqual(new Set(['register', 'finalize', 'finalize-wrongly', 'approve', 'change-account']));
  });

  test('gets calmer with age, so that a chain does not grow in proportion to it', () => {
    const dayMs = 86_400_000;
    const until = (days: number): number => {
      const all = timeline(1);
      for (let deeds = 0; ; deeds++) if (all.next().value.atMs > days * dayMs) return deeds;
    };
    expect(until(1)).toBeLessThan(4_000);
    expect(until(7)).toBeLessThan(11_000);
    expect(until(28)).toBeLessThan(22_000);
  });

  test('finalizes under the account that a node has by then', () => {
    const accounts = [0, 0, 0];
    let changes = 0;
    for (const { deed } of first(1, 1500)) {
      if (deed.kind === 'change-account') accounts[deed.node] = deed.account;
      if (deed.kind === 'change-account') changes += 1;
      if (deed.kind === 'finalize') expect(deed.account).toBe(accounts[deed.node]);
    }
    expect(changes).toBeGreaterThan(10);
  });
});

describe('messagesOf', () => {
  test('says the same for the same seed and action', () => {
    const scene = { seed: 1, cast: castOf(1), atMs: 0, idOf: String };
    const registrations = [{ id: 5, isSense: false, creator: 1, lifetimeSeconds: 60 }];
    const once = messagesOf({ kind: 'register', registrations }, scene);
    expect(messagesOf({ kind: 'register', registrations }, scene)).toEqual(once);
    expect(once[0]).toMatchObject({
      '@type': '/lumera.action.v1.MsgRequestAction',
      actionType: 'CASCADE',
      expirationTime: '61',
    });
  });
});

describe('castOf', () => {
  test('gives everybody addresses that follow from the seed', () => {
    const { creators, nodes } = castOf(1);
    expect(castOf(1)).toEqual(castOf(1));
    expect(castOf(2).creators[0].account).not.toBe(creators[0].account);
    for (const { account } of creators) expect(account).toMatch(/^lumera1[02-9ac-hj-np-z]{38}$/);
    for (const { operator } of nodes) expect(operator.operator).toMatch(/^lumeravaloper1[02-9ac-hj-np-z]{38}$/);
  });
});

describe('randomOf', () => {
  test('keeps within its bounds', () => {
    const random = randomOf('bounds');
    const drawn = new Set(Array.from({ length: 500 }, () => random.between(3, 5)));
    expect(drawn).toEqual(new Set([3, 4, 5]));
    expect(random.bytes(32)).toHaveLength(32);
  });
});
