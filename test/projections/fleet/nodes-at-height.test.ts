import { expect, it } from 'vitest';
import type { FactOf } from '../../../src/events/catalogue.ts';
import { nodeAtHeight } from '../../../src/projections/fleet/nodes-at-height.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { seeded } from '../../support/histories/random-history.ts';

type NodeFact = FactOf<'node'>;

const node = nodeFacts('op');
const seenAt = <F extends NodeFact>(fact: F, seenAtHeight: number): F => ({
  ...fact,
  data: { ...fact.data, seenAtHeight },
});
const record = (state: string, stateHeight: number) => ({ state, stateHeight, registeredHeight: 5, address: state });

it('nodeAtHeight shows a state from its own height on, and an address from when it was read', () => {
  const life = [
    seenAt(node.listed(record('active', 5)), 20),
    seenAt(node.changed(record('postponed', 25)), 30),
    seenAt(node.removed(), 40),
    seenAt(node.listed({ ...record('stopped', 52), registeredHeight: 50 }), 60),
  ];
  const at = (height: number) => {
    const shown = nodeAtHeight(life, height);
    return shown ? [shown.state, shown.address] : shown;
  };
  expect(at(4)).toBeNull();
  expect([at(5), at(19)]).toEqual([
    ['active', undefined],
    ['active', undefined],
  ]);
  expect([at(20), at(24)]).toEqual([
    ['active', 'active'],
    ['active', 'active'],
  ]);
  expect([at(25), at(29)]).toEqual([
    ['postponed', 'active'],
    ['postponed', 'active'],
  ]);
  expect([at(30), at(39)]).toEqual([
    ['postponed', 'postponed'],
    ['postponed', 'postponed'],
  ]);
  expect([at(40), at(49)]).toEqual([null, null]);
  expect([at(50), at(52), at(60)]).toEqual([
    [undefined, undefined],
    ['stopped', undefined],
    ['stopped', 'stopped'],
  ]);
});

it('nodeAtHeight does not tell of heights before the first read where no record does', () => {
  const life = [seenAt(node.listed({ state: 'active' }), 20)];
  expect(nodeAtHeight(life, 19)).toBeUndefined();
  expect(nodeAtHeight(life, 20)).toMatchObject({ state: 'active', registeredHeight: null });
  const later = [seenAt(node.listed(record('stopped', 15)), 20)];
  expect(nodeAtHeight(later, 14)).toMatchObject({ state: undefined, registeredHeight: 5 });
});

type OnChain = Readonly<{ state: string; since: number; registered: number }> | null;

/** The facts of a node that is read at every height. */
function readOf(chain: readonly OnChain[]): NodeFact[] {
  const life: NodeFact[] = [];
  for (const [height, now] of chain.entries()) {
    const last = life.at(-1);
    const isListed = last !== undefined && last.type !== 'SuperNodeRemoved';
    const stated = now && {
      state: now.state,
      stateHeight: now.since,
      registeredHeight: now.registered,
      address: now.state,
    };
    if (!stated && isListed) life.push(seenAt(node.removed(), height));
    if (stated && !isListed) life.push(seenAt(node.listed(stated), height));
    if (stated && isListed && last.data.record.stateHeight !== now.since)
      life.push(seenAt(node.changed(stated), height));
  }
  return life;
}

it('nodeAtHeight is right at every height of random lives that are read often enough', () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seeded(seed);
    // The chain's own history: one state a height, null while the node is not registered.
    let state: OnChain = null;
    const chain = Array.from({ length: 60 }, (_, height) => {
      if (!state && height > 0 && random.chance(0.2)) state = { state: 'active', since: height, registered: height };
      else if (state && random.chance(0.1)) state = null;
      else if (state && random.chance(0.2))
        state = { ...state, state: random.pick(['active', 'stopped', 'postponed']), since: height };
      return state;
    });
    const life = readOf(chain);
    for (const [height, now] of chain.entries())
      expect([seed, height, nodeAtHeight(life, height)]).toEqual([
        seed,
        height,
        life.length === 0 || !now
          ? null
          : { operator: 'op', state: now.state, address: now.state, registeredHeight: now.registered },
      ]);
  }
});
