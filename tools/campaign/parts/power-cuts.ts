import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { attempts } from '../attempts.ts';
import { createDisk, type Disk } from '../disk.ts';
import { type Field, openField } from '../../../test/support/field/field.ts';
import type { PartOptions, Tally } from '../part.ts';
import { familyOf, signalAll } from '../processes.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

export { whyNoMounts as whyNot } from '../disk.ts';

const cutsOfField = 10;
const longestLifeMs = 3000;

/**
 * Power cuts: all processes are halted, the state of the disk below the file system is copied, the processes are
 * killed, and the program goes on with the copy, which lacks whatever was written and not flushed.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  for (let at = 0; at < count; at += cutsOfField) {
    const parent = temporaryFolder();
    const disk = await createDisk(parent);
    const open = (): Promise<Field> => openField({ seed: seed + at, dataDir: disk.folder });
    const cuts = Math.min(cutsOfField, count - at);
    await attempts({ open, times: cuts, tally, log }, (field) => cutOnce(field, disk));
    await disk.remove();
    rmSync(parent, { recursive: true });
  }
  return tally;
}

async function cutOnce(field: Field, disk: Disk): Promise<void> {
  await pause(field.random.below(longestLifeMs));
  const family = familyOf(field.supervised.program().pid);
  signalAll(family, 'SIGSTOP');
  const image = await disk.image();
  await field.supervised.restart(async () => {
    signalAll(family, 'SIGKILL');
    await disk.become(image);
  });
  await field.untilHealed();
  await field.look();
}
