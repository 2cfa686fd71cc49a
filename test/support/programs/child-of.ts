import { readdir, readFile } from 'node:fs/promises';

/** The process of a parent whose command line has some words; undefined where there is none. */
export async function childOf(parent: number, words: string): Promise<number | undefined> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
    if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) !== parent) continue;
    if ((await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).includes(words)) return Number(name);
  }
  return undefined;
}
