import { open } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isSoundPage, pageBytes } from './page-checksum.ts';
import { relationFiles } from './relation-files.ts';

/** A page of a data file whose content is not what PostgreSQL wrote; `block` counts from the file's beginning. */
export type DamagedPage = Readonly<{ file: string; block: number }>;

const pagesAtOnce = 128;
const restMs = 30;
const blocksPerSegment = 131_072;
/** A page that is being written just now looks damaged for a moment. */
const looksAgain = 5;
const lookAgainMs = 150;

/**
 * Goes through all data files of a cluster, running or not, and gives back the pages whose checksum is wrong, the first few of them.
 *
 * Reads about 30 MB a second and leaves the processor alone in between.
 */
export async function damagedPages(cluster: string, signal: AbortSignal): Promise<DamagedPage[]> {
  const found: DamagedPage[] = [];
  for (const file of await relationFiles(cluster)) {
    if (signal.aborted || found.length > 0) break;
    found.push(...(await damagedIn(cluster, file, signal)));
  }
  return found;
}

async function damagedIn(cluster: string, file: string, signal: AbortSignal): Promise<DamagedPage[]> {
  const handle = await open(path.join(cluster, file)).catch(() => undefined);
  if (!handle) return [];
  const buffer = Buffer.from(new ArrayBuffer(pagesAtOnce * pageBytes));
  const segment = Number(/\.(\d+)$/.exec(file)?.[1] ?? 0);
  const found: DamagedPage[] = [];
  const readAt = async (block: number, pages: number): Promise<number> => {
    const { bytesRead } = await handle.read(buffer, 0, pages * pageBytes, block * pageBytes);
    buffer.fill(0, bytesRead, Math.ceil(bytesRead / pageBytes) * pageBytes);
    return bytesRead;
  };
  const isSoundNow = async (block: number): Promise<boolean> => {
    const bytes = await readAt(block, 1);
    return (
      bytes === 0 ||
      (bytes === pageBytes && isSoundPage(buffer.subarray(0, pageBytes), block + segment * blocksPerSegment))
    );
  };
  try {
    for (let block = 0; !signal.aborted; block += pagesAtOnce) {
      const pages = Math.ceil((await readAt(block, pagesAtOnce)) / pageBytes);
      const suspects = suspectsIn(buffer, pages, block + segment * blocksPerSegment);
      for (const at of suspects)
        found.push(...((await settles(() => isSoundNow(block + at))) ? [] : [{ file, block: block + at }]));
      if (pages < pagesAtOnce) break;
      await pause(restMs, undefined, { signal }).catch(() => undefined);
    }
    return found;
  } finally {
    await handle.close();
  }
}

/** Of the first pages of a buffer those that look damaged; half a page at the end does, too, for it ends in zeros. */
function suspectsIn(buffer: Buffer, pages: number, firstBlock: number): number[] {
  const all = Array.from({ length: pages }, (_, at) => at);
  return all.filter((at) => !isSoundPage(buffer.subarray(at * pageBytes, (at + 1) * pageBytes), firstBlock + at));
}

async function settles(isSound: () => Promise<boolean>): Promise<boolean> {
  for (let look = 0; look < looksAgain; look++) {
    await pause(lookAgainMs);
    if (await isSound()) return true;
  }
  return false;
}
