import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { attempts } from '../attempts.ts';
import { fill, mountMemory, unmount } from '../disk.ts';
import { type Field, openField } from '../../../test/support/field/field.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

export { whyNoMounts as whyNot } from '../disk.ts';

/** What lies on the disk that fills up: both stores, or one of them. */
const places = ['.', 'e2e/nats', 'e2e/db'] as const;
const sizeMb = 400;
const fullForMs = 6000;

/**
 * A disk without any room left, under both stores or one of them, while the chain goes on; then there is room again.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (const [at, place] of places.entries()) {
    const times = Math.floor((count + places.length - 1 - at) / places.length);
    if (times === 0) continue;
    const dataDir = temporaryFolder();
    const folder = path.join(dataDir, place);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    await mountMemory(folder, sizeMb);
    log(`full at ${place}`);
    await attempts({ open: () => openField({ seed: seed + at, dataDir }), times, tally, log }, (field) =>
      fillOnce(field, folder),
    );
    await unmount(folder);
    rmSync(dataDir, { recursive: true });
  }
  return tally;
}

async function fillOnce(field: Field, folder: string): Promise<void> {
  await field.moment('sync');
  const ballast = path.join(folder, 'ballast');
  await fill(ballast);
  await pause(fullForMs / 2);
  await fill(`${ballast}-more`);
  await pause(fullForMs / 2);
  rmSync(ballast, { force: true });
  rmSync(`${ballast}-more`, { force: true });
  await field.untilHealed();
  await field.look();
}
