import { createHash } from 'node:crypto';
import { bech32 } from '@scure/base';
import { seeded } from '../../test/support/histories/random-history.ts';

/** How large the network of the load is. */
export type Size = Readonly<{ actions: number; nodes: number; creators: number }>;

/** A node with its accounts from their heights on. */
export type Node = Readonly<{ operator: string; accounts: readonly { account: string; height: number }[] }>;

/** What the load is about: who registers, who finalizes, and how far the chain has come. */
export type World = Size &
  Readonly<{
    makers: readonly string[];
    fleet: readonly Node[];
    lastHeight: number;
    /** Height and time of an action's registration. */
    heightOf: (place: number) => number;
    /** Creator of an action: one makes a tenth of all, the others by rank. */
    creatorOf: (place: number, chance: number) => string;
    /** A node that finalizes: one takes a seventh of all work, the others by rank. */
    workerOf: (chance: number) => Node;
  }>;

/** Blocks between two actions, six seconds each: a million of them take five years. */
const blocksApart = 26;
const secondsPerBlock = 6;
const firstBlock = Date.UTC(2021, 0, 1);

/** Makes a network; the same one each time. */
export function worldOf(size: Size): World {
  const makers = Array.from({ length: size.creators }, (_, place) => addressOf('lumera', `creator ${place}`));
  const lastHeight = (size.actions + 100) * blocksApart;
  const random = seeded(7);
  const fleet = Array.from({ length: size.nodes }, (_, place) => nodeAt(place, lastHeight, random.chance(0.05)));
  return {
    ...size,
    makers,
    fleet,
    lastHeight,
    heightOf: (place) => heightOf(place, size.actions),
    creatorOf: (_place, chance) => ranked(makers, chance, 0.1),
    workerOf: (chance) => ranked(fleet, chance, 0.14),
  };
}

/** The time of a block, as facts write it. */
export function timeAt(height: number): string {
  return new Date(firstBlock + height * secondsPerBlock * 1000).toISOString().replace('.000Z', 'Z');
}

/** Heights rise with ids; one fiftieth of all actions come within a few days. */
function heightOf(place: number, actions: number): number {
  const burst = Math.floor(actions * 0.6);
  const inBurst = Math.min(Math.max(place - burst, 0), Math.floor(actions / 50));
  return 10 + Math.floor((place - inBurst) * blocksApart + inBurst * 2);
}

/** The busiest node, and one in twenty, changed its account halfway; one in two hundred took over another's. */
function nodeAt(place: number, lastHeight: number, moves: boolean): Node {
  const own = addressOf('lumera', `worker ${place}`);
  const half = Math.floor(lastHeight / 2);
  const first = { account: own, height: 10 };
  const operator = addressOf('lumeravaloper', `operator ${place}`);
  if (place === 1 || (moves && place > 1))
    return { operator, accounts: [first, { account: addressOf('lumera', `second worker ${place}`), height: half }] };
  if (place % 200 === 7)
    return { operator, accounts: [first, { account: addressOf('lumera', `worker ${place + 1}`), height: half }] };
  return { operator, accounts: [first] };
}

/** The first with a chance of its own, the others the rarer the later they come. */
function ranked<T>(from: readonly T[], chance: number, first: number): T {
  const rest = (chance - first) / (1 - first);
  const place = chance < first ? 0 : Math.floor(Math.exp(rest * Math.log(from.length))) - 1;
  const found = from[Math.min(Math.max(place, 0), from.length - 1)];
  if (found === undefined) throw new Error('There is nobody to choose from');
  return found;
}

function addressOf(prefix: string, name: string): string {
  return bech32.encode(prefix, bech32.toWords(createHash('sha256').update(name).digest().subarray(0, 20)));
}
