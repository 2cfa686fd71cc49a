import { hash } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { writeDurably } from '../durable-file.ts';
import { relationFiles } from './relation-files.ts';

/** The files of tables and indexes of a cluster, as they were found. */
export type LengthLook = Readonly<{
  /** Files that are shorter than when they were last remembered, or gone. */
  short: readonly string[];
  /** Whether a file is there. */
  has: (file: string) => boolean;
  /** How long all of them are together. */
  bytes: number;
  /** From now on every file has to be as long as it was found. */
  remember: () => Promise<void>;
}>;

type Lengths = Readonly<Record<string, number>>;

/**
 * Looks how long the files of a cluster are, running or not, beside how long they were: a file that was cut where a page ends looks sound
 * page by page, and PostgreSQL takes it for a smaller table.
 *
 * The embedded server never shortens a file of a table that it keeps (`vacuum_truncate` is off). What is remembered is on disk, and so
 * holds after a power cut too; it belongs to one cluster, and a damaged record counts as none.
 */
export async function lookAtLengths(cluster: string): Promise<LengthLook> {
  const [identity, known, now] = await Promise.all([identityOf(cluster), readRecord(cluster), measure(cluster)]);
  const before = known?.identity === identity ? known.lengths : {};
  return {
    short: Object.entries(before)
      .filter(([file, length]) => (now[file] ?? 0) < length)
      .map(([file]) => file),
    has: (file) => now[file] !== undefined,
    bytes: Object.values(now).reduce((sum, length) => sum + length, 0),
    remember: async () => {
      const changed = Object.keys(now).filter((file) => now[file] !== before[file]);
      if (changed.length === 0 && Object.keys(now).length === Object.keys(before).length) return;
      for (const file of changed) await flush(path.join(cluster, file));
      await writeRecord(cluster, { identity, lengths: now });
    },
  };
}

type Remembered = Readonly<{ identity: string; lengths: Lengths }>;

const recordOf = (cluster: string): string => `${cluster}.lengths`;

async function readRecord(cluster: string): Promise<Remembered | undefined> {
  const [sum, text = ''] = (await readFile(recordOf(cluster), 'utf8').catch(() => '')).split('\n');
  return sum === hash('sha256', text) ? (JSON.parse(text) as Remembered) : undefined;
}

async function writeRecord(cluster: string, record: Remembered): Promise<void> {
  const text = JSON.stringify(record);
  await writeDurably(recordOf(cluster), `${hash('sha256', text)}\n${text}`);
}

/** The number that a cluster gets when it is made. */
async function identityOf(cluster: string): Promise<string> {
  const control = await readFile(path.join(cluster, 'global', 'pg_control')).catch(() => Buffer.of());
  return control.subarray(0, 8).toString('hex');
}

async function measure(cluster: string): Promise<Lengths> {
  const lengths: Record<string, number> = {};
  for (const file of await relationFiles(cluster)) {
    const found = await stat(path.join(cluster, file)).catch(() => undefined);
    if (found) lengths[file] = found.size;
  }
  return lengths;
}

/** Whatever the server has written of the file by now. A file that was dropped meanwhile needs nothing. */
async function flush(file: string): Promise<void> {
  const handle = await open(file, 'r').catch(() => undefined);
  try {
    await handle?.datasync();
  } finally {
    await handle?.close();
  }
}
