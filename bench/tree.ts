import { readdir, readFile } from 'node:fs/promises';

/**
 * Memory of processes in MB: `resident` counts a page in every process that uses it, `once` shares it out among them.
 */
export type Memory = Readonly<{ resident: number; once: number }>;

/** Memory of a process and of all that it started: the sum, and by program. */
export async function memoryOf(pid: number): Promise<Memory & Readonly<{ by: ReadonlyMap<string, Memory> }>> {
  const by = new Map<string, Memory>();
  let sum: Memory = { resident: 0, once: 0 };
  for (const { id, name } of await treeOf(pid)) {
    const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
    const own = { resident: megabytes(rollup, 'Rss'), once: megabytes(rollup, 'Pss') };
    sum = plus(sum, own);
    by.set(name, plus(by.get(name) ?? { resident: 0, once: 0 }, own));
  }
  return { ...sum, by };
}

/** A process and all that it started. */
export async function treeOf(pid: number): Promise<{ id: number; name: string }[]> {
  const all = new Map<number, { parent: number; name: string }>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    const [name = '', parent] = [/^Name:\s+(.*)/m.exec(status)?.[1], /^PPid:\s+(\d+)/m.exec(status)?.[1]];
    all.set(Number(entry), { parent: Number(parent ?? 0), name });
  }
  const isInTree = (id: number): boolean => id === pid || (id > 1 && isInTree(all.get(id)?.parent ?? 0));
  return [...all].filter(([id]) => isInTree(id)).map(([id, { name }]) => ({ id, name }));
}

const plus = (a: Memory, b: Memory): Memory => ({ resident: a.resident + b.resident, once: a.once + b.once });

/** The kernel says kB and means 1,024 bytes. */
const megabytes = (rollup: string, name: string): number =>
  (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1.024) / 1000;
