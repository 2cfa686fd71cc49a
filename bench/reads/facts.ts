import type { Fact } from '../../src/events/catalogue.ts';
import { actionFacts, nodeFacts, probeFacts, validatorFacts } from '../../test/support/histories/facts.ts';
import { type Random, seeded } from '../../test/support/histories/random-history.ts';
import { timeAt, type World } from './world.ts';

const metadata = Buffer.alloc(180, 'metadata ').toString('base64');

/** The whole life of one action of the load: most are approved, few are left registered, fewer end as finalized. */
export function lifeOf(world: World, place: number): Fact[] {
  const random = seeded(place * 2_654_435_761);
  const id = String(place + 1);
  const height = world.heightOf(place);
  const facts = actionFacts(id, {
    creator: world.creatorOf(place, random.below(1e9) / 1e9),
    dataHash: `${id}${'x'.repeat(44 - id.length)}`,
    expiresAt: timeAt(height + 14_400),
  });
  const kind = random.chance(0.2) ? 'sense' : 'cascade';
  const price = { denom: 'ulume', amount: String(10_000 + random.below(9_000)) };
  const transaction = { hash: hashOf(random), height, time: timeAt(height) };
  const life: Fact[] = [
    facts.registered({ kind, height, price, transaction, metadata, fileSizeKbs: 1 + random.below(9e6) }),
  ];
  if (random.chance(0.02)) return random.chance(0.8) ? [...life, facts.expired(height + 14_400)] : life;
  life.push(facts.finalized(workOf(world, random, { place, kind, height })));
  const approves = random.chance(kind === 'sense' ? 0.9999 : 0.97);
  const approval = height + 40;
  if (approves)
    life.push(facts.approved({ transaction: { hash: hashOf(random), height: approval, time: timeAt(approval) } }));
  return life;
}

type Done = Readonly<{ place: number; kind: string; height: number }>;

/** One node finalizes Cascade, up to three Sense; every twentieth transaction finalizes the action before as well. */
function workOf(world: World, random: Random, { place, kind, height }: Done) {
  const workers = Array.from({ length: kind === 'sense' ? 1 + random.below(3) : 1 }, () => {
    const { accounts } = world.workerOf(random.below(1e9) / 1e9);
    return accounts.findLast((one) => one.height <= height) ?? accounts[0];
  });
  const accounts = [...new Set(workers.flatMap((worker) => worker?.account ?? []))];
  const isShared = place % 20 < 2;
  const hash = isShared ? hashOf(seeded(Math.floor(place / 20))) : hashOf(random);
  const at = (isShared ? world.heightOf(place - (place % 20)) : height) + 20;
  const denom = random.chance(0.99) ? 'ulume' : 'uother';
  const payments = accounts.map((account) => ({ account, denom, amount: String(9_000 + random.below(9_000)) }));
  return { accounts, payments, transaction: { hash, height: at, time: timeAt(at) } };
}

/** Every node and its validator, as listed at the end. */
export function fleetFacts(world: World): Fact[] {
  return world.fleet.flatMap(({ operator, accounts }, place) => {
    const random = seeded(place);
    const states = ['active', 'active', 'active', 'active', 'active', 'stopped', 'postponed'] as const;
    const address = `203.0.${Math.floor(place / 250)}.${place % 250}:4444`;
    const status = random.chance(0.9) ? 'bonded' : 'unbonded';
    return [
      nodeFacts(operator).listed({
        accounts,
        state: random.pick(states),
        address,
        registeredHeight: 10,
        stateHeight: 10,
      }),
      validatorFacts(operator).listed({ status, jailed: random.chance(0.03) }),
    ];
  });
}

/** The latest probe of every node: one in fourteen failed, one in a hundred never passed. */
export function lastProbes(world: World): Fact[] {
  return world.fleet.map(({ operator }, place) => {
    const random = seeded(place + 1e6);
    const probes = probeFacts(operator);
    const figures = {
      version: random.pick(['v2.4.0', 'v2.5.0', 'v2.6.2', 'v2.6.2', 'v2.6.2']),
      peerCount: random.below(90),
      cpuCores: 8,
      cpuUsagePercent: random.below(1000) / 10,
      memoryTotalGb: 64,
      memoryUsedGb: random.below(64),
      storageTotalGb: 4096,
      storageUsedGb: random.below(4096),
      uptimeSeconds: random.below(1e6),
    };
    if (random.chance(0.01)) return probes.failed(1 + random.below(2000));
    if (random.chance(0.07))
      return probes.failed(1 + random.below(50), { lastSeenAt: timeAt(world.lastHeight), figures });
    return probes.succeeded(figures);
  });
}

/** The last round of each source. */
export function lastRounds(world: World): Fact[] {
  const at = timeAt(world.lastHeight);
  const known = {
    chainId: 'lumera-load',
    cursor: world.lastHeight,
    open: [],
    unread: [],
    completedAt: at,
    completedHeight: world.lastHeight,
  };
  return ['actions', 'supernodes', 'validators'].map((source) => ({
    type: 'SyncRoundCompleted',
    data: {
      source,
      startedAt: at,
      at,
      height: world.lastHeight,
      blockTime: at,
      requests: 3,
      facts: 0,
      skipped: [],
      known,
    },
  }));
}

const hex = '0123456789ABCDEF';

function hashOf(random: Random): string {
  let text = '';
  while (text.length < 64)
    text +=
      hex.charAt(random.below(16)) +
      random
        .below(2 ** 28)
        .toString(16)
        .toUpperCase()
        .padStart(7, '0');
  return text;
}
