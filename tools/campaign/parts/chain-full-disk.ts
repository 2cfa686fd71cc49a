import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';
import { harmChain } from '../chain-harms.ts';
import { fill, mountMemory, unmount } from '../disk.ts';
import type { PartOptions, Tally } from '../part.ts';

export { whyNoMounts as whyNot } from '../disk.ts';

const sizeMb = 600;
const mostFullMs = 6_000;

/** A disk without room under a whole local network, then there is room again. */
export async function run(options: PartOptions): Promise<Tally> {
  const dataDir = temporaryFolder();
  const folder = path.join(dataDir, 'local');
  const ballast = path.join(folder, 'ballast');
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  await mountMemory(folder, sizeMb);
  try {
    return await harmChain({
      ...options,
      dataDir,
      once: async ({ random, harm }) => {
        const fullMs = 1_000 + random.below(mostFullMs);
        await harm(async () => {
          await fill(ballast);
          await pause(fullMs).finally(() => rmSync(ballast, { force: true }));
        });
        return `the disk was full for ${fullMs} ms`;
      },
    });
  } finally {
    rmSync(ballast, { force: true });
    await unmount(folder);
    rmSync(dataDir, { recursive: true, force: true });
  }
}
