import { Line } from './line.ts';
import { numbers, readsOf, spelt } from './requests.ts';
import { type Size, worldOf } from './world.ts';

/** Whom to ask, for how long, after some seconds that do not count. */
export type Saturation = Readonly<{
  url: string;
  size: Size;
  seed: number;
  warmUpSeconds: number;
  seconds: number;
  /** So many different reads are asked again and again by the tags of their answers; without it all are new. */
  known?: number;
  /** Every address is another one, so that no answer comes from the cache of answers. */
  uncached?: boolean;
}>;

/** What was answered. */
export type Saturated = Readonly<{ perSecond: number; failed: number }>;

const clients = 32;

// Asks all reads equally often, as a process of its own, each client as soon as it was answered.
const {
  url,
  size,
  seed,
  warmUpSeconds,
  seconds,
  known = 0,
  uncached,
} = JSON.parse(process.argv[2] ?? '{}') as Saturation;
process.on('disconnect', () => process.exit());
const reads = readsOf(worldOf(size));
const random = numbers(seed);
const lines = Array.from({ length: clients }, () => new Line(url));
let asked = 0;
const tagged = await taggedReads();
await answeredIn(warmUpSeconds);
process.send?.(await answeredIn(seconds));

async function answeredIn(duration: number): Promise<Saturated> {
  const began = performance.now();
  let [answered, failed] = [0, 0];
  await Promise.all(
    lines.map(async (line) => {
      while (performance.now() - began < duration * 1000) {
        const { path, tag } = tagged[Math.floor(random() * known)] ?? { path: anyPath() };
        const isSound = await new Promise<boolean>((resolve) => line.ask(path, resolve, tag));
        answered += 1;
        if (!isSound) failed += 1;
      }
    }),
  );
  return { perSecond: answered / ((performance.now() - began) / 1000), failed };
}

function anyPath(): string {
  const path = reads[Math.floor(random() * reads.length)]?.path(random) ?? '/';
  if (!uncached) return path;
  asked += 1;
  return spelt(path, asked);
}

/** The reads whose answers are known, with their tags. */
async function taggedReads(): Promise<readonly { path: string; tag?: string }[]> {
  const paths = Array.from({ length: known }, anyPath);
  const all: { path: string; tag?: string }[] = [];
  for (const path of paths) {
    const { headers } = await fetch(url + path);
    all.push({ path, tag: headers.get('etag') ?? '' });
  }
  return all;
}
