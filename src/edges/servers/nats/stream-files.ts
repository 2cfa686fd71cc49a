import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** What the broker says of a stream, as far as its files say the same. */
export type Told = Readonly<{
  created: string;
  config: Readonly<{ name: string; metadata?: Readonly<Record<string, string>> }>;
}>;

/** The folder of each stream of ours lies here, in the folder of an embedded broker. */
export function streamsFolder(dir: string): string {
  return path.join(dir, 'js', 'jetstream', 'CORE', 'streams');
}

/** A sum of the description that the server wrote, by the description. */
export type Sums = Map<string, Readonly<{ text: string; sum: string }>>;

/**
 * What is wrong with the files that describe a stream (`meta.inf`, `meta.sum`), which a broker that runs has in memory; undefined where
 * nothing is. `sums` holds what was seen before.
 *
 * A description must say what the broker says. Its sum must be the one that it was first seen with: the broker checks both when it starts.
 */
export async function damagedMeta(folder: string, told: Told, sums: Sums): Promise<string | undefined> {
  const { name } = told.config;
  const read = (file: string): Promise<string> => readFile(path.join(folder, name, file), 'latin1').catch(() => '');
  const [text, sum] = await Promise.all([read('meta.inf'), read('meta.sum')]);
  if (!says(text, told)) return `meta.inf of ${name} does not say what the broker knows`;
  const before = sums.get(name);
  const isSum = /^[0-9a-f]{16}$/.test(sum) && (before?.text !== text || before.sum === sum);
  if (!isSum) return `meta.sum of ${name} is not what the broker wrote`;
  sums.set(name, { text, sum });
  return undefined;
}

function says(text: string, { created, config }: Told): boolean {
  try {
    const { Created, ...described } = JSON.parse(Buffer.from(text, 'latin1').toString()) as Told['config'] & {
      Created: unknown;
    };
    return Created === created && isDeepStrictEqual(plain(described), plain(config));
  } catch {
    return false;
  }
}

/** Without what the server only adds when it is asked. */
function plain(config: Told['config']): unknown {
  const metadata = Object.entries(config.metadata ?? {}).filter(([key]) => !['_nats.level', '_nats.ver'].includes(key));
  return { ...config, metadata: Object.fromEntries(metadata) };
}
