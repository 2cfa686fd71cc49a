import { percentile } from '../rounds.ts';
import { Line } from './line.ts';
import { numbers, readsOf, spelt } from './requests.ts';
import { type Size, worldOf } from './world.ts';

/** Whom to ask for pages as of positions up to the last one, and how often in a round; the first one does not count. */
export type PastLoad = Readonly<{
  url: string;
  size: Size;
  seed: number;
  last: number;
  rounds: number;
  count: number;
}>;

/** How long a page took in a round, in milliseconds: at the head, as of any position, and of one near the head. */
export type PastTimes = Readonly<{ name: string; head: number; past: number; any: number[]; near: number[] }>;

/** So many facts before the end are near it. */
const nearFacts = 100_000;

// Asks for pages of actions as they are and as of random positions, in turn, one at a time and as a process of its own;
// no address comes twice, so that no answer is cached.
const { url, size, seed, last, rounds, count } = JSON.parse(process.argv[2] ?? '{}') as PastLoad;
process.on('disconnect', () => process.exit());
const random = numbers(seed);
const pages = readsOf(worldOf(size)).filter(({ name }) => name.startsWith('actions '));
const line = new Line(url);
let asked = 0;
const all: PastTimes[][] = [];
for (let round = 0; round <= rounds; round += 1) {
  const times: PastTimes[] = [];
  for (const page of pages) times.push(await timesOf(page));
  if (round > 0) all.push(times);
}
line.close();
process.send?.(all);

async function timesOf({ name, path }: (typeof pages)[number]): Promise<PastTimes> {
  const [head, any, near] = [[], [], []] as [number[], number[], number[]];
  for (let at = 0; at < count; at += 1) {
    const address = path(random);
    const asOf = (position: number): string => `${address}&as_of=ACTIONS:${position}`;
    asked += 1;
    head.push(await milliseconds(spelt(address, asked)));
    any.push(await milliseconds(asOf(Math.floor(random() * last))));
    near.push(await milliseconds(asOf(last - Math.floor(random() * Math.min(nearFacts, last)))));
  }
  return { name, head: percentile(head, 50), past: percentile(any, 50), any, near };
}

async function milliseconds(address: string): Promise<number> {
  const began = performance.now();
  const isSound = await new Promise<boolean>((resolve) => line.ask(address, resolve));
  if (!isSound) throw new Error(`${address} was not answered`);
  return performance.now() - began;
}
