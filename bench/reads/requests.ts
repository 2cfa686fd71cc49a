import { seeded } from '../../test/support/histories/random-history.ts';
import { timeAt, type World } from './world.ts';

/** A read of the load: a path of its own each time. */
export type Read = Readonly<{ name: string; path: (random: () => number) => string }>;

type Random = () => number;

/** Every endpoint with every filter alone, the rare ones, the busiest ones, and combinations, over all ages. */
export function readsOf(world: World): Read[] {
  const given = chooserOf(world);
  return [...listsOf(given), ...combinedLists(given), ...otherActions(given), ...ofNodes(given)];
}

type Chooser = ReturnType<typeof chooserOf>;

function chooserOf(world: World) {
  const { makers, fleet, lastHeight } = world;
  const at = (random: Random, count: number) => Math.floor(random() * count);
  const creator = (random: Random) => makers[at(random, makers.length)] ?? '';
  const node = (random: Random) => fleet[at(random, fleet.length)] ?? fleet[0];
  const operator = (random: Random) => node(random)?.operator ?? '';
  const account = (random: Random) => node(random)?.accounts[0]?.account ?? '';
  const busiest = fleet[0]?.operator ?? '';
  const busiestAccount = fleet[0]?.accounts[0]?.account ?? '';
  const moved = fleet[1]?.operator ?? '';
  const movedAccount = fleet[1]?.accounts[0]?.account ?? '';
  const largest = makers[0] ?? '';
  const range = (random: Random) => {
    const [a, b] = [at(random, lastHeight), at(random, lastHeight)];
    return `fromHeight=${Math.min(a, b)}&toHeight=${Math.max(a, b)}`;
  };
  const oldRange = (random: Random) => {
    const from = at(random, lastHeight * 0.3);
    return `fromHeight=${from}&toHeight=${from + at(random, 400_000)}`;
  };
  const window = (random: Random) => {
    const [a, b] = [at(random, lastHeight), at(random, lastHeight)];
    return `from=${timeAt(Math.min(a, b))}&to=${timeAt(Math.max(a, b))}`;
  };
  return {
    world,
    at,
    creator,
    operator,
    account,
    busiest,
    busiestAccount,
    moved,
    movedAccount,
    largest,
    range,
    oldRange,
    window,
  };
}

const list = (name: string, query: (random: Random) => string): Read => ({
  name: `actions ${name}`,
  path: (random) => `/v1/actions?${query(random)}`,
});

const fixed = (name: string, path: string): Read => ({ name, path: () => path });

function listsOf({
  creator,
  operator,
  account,
  busiest,
  busiestAccount,
  moved,
  movedAccount,
  largest,
  range,
  oldRange,
}: Chooser): Read[] {
  return [
    list('all', () => ''),
    list('limit 200, transactions', () => 'limit=200&include_transactions=true'),
    list('type', () => 'type=sense'),
    list('state', () => 'state=approved'),
    list('rare state', () => 'state=registered'),
    list('type, rarest state', () => 'type=sense&state=finalized'),
    list('creator', (random) => `creator=${creator(random)}`),
    list('largest creator', () => `creator=${largest}`),
    list('largest creator, type, state', () => `creator=${largest}&type=cascade&state=finalized`),
    list('largest creator, range', (random) => `creator=${largest}&${range(random)}`),
    list('creator, range', (random) => `creator=${creator(random)}&${range(random)}`),
    list('account', (random) => `supernode=${account(random)}`),
    list('busiest account', () => `supernode=${busiestAccount}`),
    list('busiest account, state', () => `supernode=${busiestAccount}&state=finalized`),
    list('busiest account, range', (random) => `supernode=${busiestAccount}&${range(random)}`),
    list('busiest account, type, old range', (random) => `supernode=${busiestAccount}&type=sense&${oldRange(random)}`),
    list('operator', (random) => `supernode=${operator(random)}`),
    list('operator, type, state', (random) => `supernode=${operator(random)}&type=sense&state=approved`),
    list('busiest operator', () => `supernode=${busiest}`),
    list('busiest operator, range', (random) => `supernode=${busiest}&${range(random)}`),
    list('moved operator', () => `supernode=${moved}`),
    list('moved operator, state', () => `supernode=${moved}&state=finalized`),
    list('moved operator, range', (random) => `supernode=${moved}&${range(random)}`),
    list('moved account', () => `supernode=${movedAccount}`),
  ];
}

function combinedLists({
  world,
  at,
  creator,
  account,
  busiest,
  busiestAccount,
  moved,
  largest,
  range,
  oldRange,
}: Chooser): Read[] {
  const { lastHeight } = world;
  return [
    list('busiest account, creator', (random) => `supernode=${busiestAccount}&creator=${creator(random)}`),
    list('account, largest creator', (random) => `supernode=${account(random)}&creator=${largest}`),
    list('busiest account, largest creator', () => `supernode=${busiestAccount}&creator=${largest}`),
    list(
      'busiest account, largest creator, range',
      (random) => `supernode=${busiestAccount}&creator=${largest}&${range(random)}`,
    ),
    list('moved operator, largest creator', () => `supernode=${moved}&creator=${largest}`),
    list('busiest operator, largest creator, state', () => `supernode=${busiest}&creator=${largest}&state=finalized`),
    list('range', range),
    list('old range', oldRange),
    list('type, old range', (random) => `type=sense&${oldRange(random)}`),
    list('rare state, range', (random) => `state=registered&${range(random)}`),
    list('type, rarest state, range', (random) => `type=sense&state=finalized&${range(random)}`),
    list('from height', (random) => `fromHeight=${at(random, lastHeight)}`),
    list('to height', (random) => `toHeight=${at(random, lastHeight)}`),
  ];
}

function otherActions({ world, at, window }: Chooser): Read[] {
  const { lastHeight } = world;
  return [
    { name: 'action', path: (random) => `/v1/actions/${1 + at(random, world.actions)}` },
    fixed('action stats', '/v1/actions/stats'),
    fixed('action stats, type', '/v1/actions/stats?type=sense'),
    { name: 'action stats, window', path: (random) => `/v1/actions/stats?${window(random)}` },
    {
      name: 'action stats, type, from',
      path: (random) => `/v1/actions/stats?type=sense&from=${timeAt(at(random, lastHeight))}`,
    },
    { name: 'action stats, to', path: (random) => `/v1/actions/stats?to=${timeAt(at(random, lastHeight))}` },
  ];
}

function ofNodes({ operator, busiest, moved }: Chooser): Read[] {
  return [
    fixed('nodes', '/v1/supernodes/metrics'),
    fixed('nodes limit 200', '/v1/supernodes/metrics?limit=200'),
    fixed('nodes status', '/v1/supernodes/metrics?status=unavailable'),
    fixed('nodes state', '/v1/supernodes/metrics?currentState=jailed'),
    fixed('nodes version, state', '/v1/supernodes/metrics?version=v2.4.0&currentState=postponed'),
    fixed('nodes failing', '/v1/supernodes/metrics?minFailedProbeCounter=1000'),
    { name: 'node', path: (random) => `/v1/supernodes/${operator(random)}/metrics` },
    { name: 'payments', path: (random) => `/v1/supernodes/${operator(random)}/paymentInfo` },
    fixed('payments of the busiest', `/v1/supernodes/${busiest}/paymentInfo`),
    fixed('payments of the moved', `/v1/supernodes/${moved}/paymentInfo`),
    fixed('fleet stats', '/v1/supernodes/stats'),
    fixed('node action stats', '/v1/supernodes/action-stats'),
    fixed('unavailable', '/v1/supernodes/unavailable'),
    fixed('unavailable, state', '/v1/supernodes/unavailable?currentState=active'),
    fixed('versions', '/v1/version/matrix'),
  ];
}

/** Numbers from 0 up to 1 that a seed decides. */
export function numbers(seed: number): Random {
  const random = seeded(seed);
  return () => random.below(2 ** 30) / 2 ** 30;
}

/** The same address in other letters for each number, so that no answer to it is in the cache. */
export function spelt(address: string, number: number): string {
  let bits = number;
  return address.replaceAll(/[a-z\d]/g, (letter) => {
    const isPlain = bits % 2 === 0;
    bits = Math.floor(bits / 2);
    return isPlain ? letter : `%${letter.charCodeAt(0).toString(16)}`;
  });
}
