import { Line } from './line.ts';
import { numbers, readsOf } from './requests.ts';
import { type Size, worldOf } from './world.ts';

/** Whom to ask, for how long, after some seconds that do not count. */
export type Saturation = Readonly<{ url: string; size: Size; seed: number; warmUpSeconds: number; seconds: number }>;

/** What was answered. */
export type Saturated = Readonly<{ perSecond: number; failed: number }>;

const clients = 32;

// Asks all reads equally often, as a process of its own, each client as soon as it was answered.
const { url, size, seed, warmUpSeconds, seconds } = JSON.parse(process.argv[2] ?? '{}') as Saturation;
process.on('disconnect', () => process.exit());
const reads = readsOf(worldOf(size));
const random = numbers(seed);
const lines = Array.from({ length: clients }, () => new Line(url));
await answeredIn(warmUpSeconds);
process.send?.(await answeredIn(seconds));

async function answeredIn(duration: number): Promise<Saturated> {
  const began = performance.now();
  let [answered, failed] = [0, 0];
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() - began < duration * 1000) {
        const path = reads[Math.floor(random() * reads.length)]?.path(random) ?? '/';
        const isSound = await new Promise<boolean>((resolve) => line.ask(path, resolve));
        answered += 1;
        if (!isSound) failed += 1;
      }
    }),
  );
  return { perSecond: answered / ((performance.now() - began) / 1000), failed };
}
