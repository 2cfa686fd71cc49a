import { openLoop } from './open-loop.ts';
import { numbers, readsOf } from './requests.ts';
import { type Size, worldOf } from './world.ts';

/** What is asked of whom: all reads equally often, some seconds first that do not count. */
export type Load = Readonly<{
  url: string;
  size: Size;
  seed: number;
  perSecond: number;
  warmUpSeconds: number;
  seconds: number;
}>;

// Asks, as a process of its own, so that nothing else that is measured with holds it up; sends its times to its parent.
const { url, size, seed, perSecond, warmUpSeconds, seconds } = JSON.parse(process.argv[2] ?? '{}') as Load;
process.on('disconnect', () => process.exit());
const reads = readsOf(worldOf(size));
const load = { url, perSecond, random: numbers(seed) };
await openLoop(reads, { ...load, seconds: warmUpSeconds });
process.send?.(await openLoop(reads, { ...load, seconds }));
