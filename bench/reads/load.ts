import { openLoop, type Times } from './open-loop.ts';
import { numbers, readsOf } from './requests.ts';
import { type Size, worldOf } from './world.ts';

/** What is asked of whom: all reads equally often, of each address in turn, some seconds first that do not count. */
export type Load = Readonly<{
  urls: readonly string[];
  size: Size;
  seed: number;
  perSecond: number;
  warmUpSeconds: number;
  rounds: number;
  /** Of each round. */
  seconds: number;
}>;

// Asks, as a process of its own, so that nothing else that is measured with holds it up; sends the times of each
// address's rounds.
const { urls, size, seed, perSecond, warmUpSeconds, rounds, seconds } = JSON.parse(process.argv[2] ?? '{}') as Load;
process.on('disconnect', () => process.exit());
const reads = readsOf(worldOf(size));
const asked = urls.map((url) => ({ url, perSecond, random: numbers(seed), times: [] as Times[][] }));
for (const one of asked) await openLoop(reads, { ...one, seconds: warmUpSeconds });
for (let round = 0; round < rounds; round += 1)
  for (const one of asked) one.times.push(await openLoop(reads, { ...one, seconds }));
process.send?.(asked.map(({ times }) => times));
