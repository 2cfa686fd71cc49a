import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fact } from '../../../../src/events/catalogue.ts';
import type { ActionFilter } from '../../../../src/projections/actions/action-filter.ts';
import { listActions } from '../../../../src/projections/actions/action-list.ts';
import type { Reading } from '../../../../src/projections/reading.ts';
import { filtered, type World, worldOf } from '../../../support/expected/brute-force.ts';
import { actionFacts, nodeFacts, transactionAt } from '../../../support/histories/facts.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { type Random, seeded } from '../../../support/histories/random-history.ts';

const creators = ['lumera1maker', 'lumera1other'] as const;
const accounts = ['lumera1first', 'lumera1second'] as const;
const operator = 'lumeravaloper1mover';
const idsApart = 512;
const heightsApart = 400;
const count = 300;
const lastHeight = count * heightsApart;

/** Ids and heights rise together over nine groups of ids; the operator has the second account from the middle on. */
function history(random: Random): Fact[] {
  const lives = Array.from({ length: count }, (_, at) => {
    const facts = actionFacts(String(at * idsApart + 1), { creator: random.pick(creators) });
    const height = at * heightsApart;
    const kind = random.pick(['cascade', 'sense'] as const);
    const life: Fact[] = [facts.registered({ kind, height, transaction: transactionAt(height) })];
    if (random.chance(0.1)) return life;
    const both = random.chance(0.3) ? [...accounts] : [random.pick(accounts)];
    life.push(facts.finalized({ accounts: both, transaction: transactionAt(height + random.below(4) * heightsApart) }));
    return random.chance(0.5) ? [...life, facts.approved()] : life;
  });
  const owned = accounts.map((account, at) => ({ account, height: 1 + at * Math.floor(lastHeight / 2) }));
  return [...lives.flat(), nodeFacts(operator).listed({ accounts: owned, account: accounts[1] })];
}

let world: World;
let reading: Reading;
let close: () => Promise<void>;
beforeAll(async () => {
  const facts = history(seeded(5));
  world = worldOf(facts);
  ({ reading, close } = await loadReading(facts));
});
afterAll(async () => await close());

type Wanted = NonNullable<ActionFilter['supernode']>;
const supernodes: [Wanted, ...Wanted[]] = [{ account: accounts[0] }, { account: accounts[1] }, { operator }];

it('listActions gives the exact total of a pair between any heights', async () => {
  const random = seeded(6);
  for (let round = 0; round < 400; round++) {
    const [a, b] = [random.below(lastHeight), random.below(lastHeight)];
    const filter: ActionFilter = {
      creator: random.pick(creators),
      supernode: random.pick(supernodes),
      ...(random.chance(0.8) && { fromHeight: Math.min(a, b) }),
      ...(random.chance(0.8) && { toHeight: Math.max(a, b) }),
      ...(random.chance(0.4) && { type: random.pick(['cascade', 'sense', 'none']) }),
      ...(random.chance(0.4) && { state: random.pick(['registered', 'finalized', 'approved']) }),
    };
    const { total } = await listActions(reading, { ...filter, limit: 3 });
    expect(total, JSON.stringify(filter)).toBe(filtered(world, filter).length);
  }
});
