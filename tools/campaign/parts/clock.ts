import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openProgramLog } from '../../../test/support/programs/program-log.ts';
import { attempts } from '../attempts.ts';
import { type Field, openField } from '../../../test/support/field/field.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

const hourMs = 3_600_000;
/** What the service's clock is wrong by, step by step; the machine's own is right all the while. */
const shiftsMs = [hourMs, -hourMs, 48 * hourMs, -48 * hourMs, 90_000, -1500, 0] as const;
const clock = new URL('../shifted-clock.mjs', import.meta.url).href;
const livesMs = 3000;
const exactToMs = 60_000;

/**
 * The service's clock stepped forth and back while it runs; every third time the service is killed in the wrong time,
 * too.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  const folder = temporaryFolder();
  const file = path.join(folder, 'shift');
  writeFileSync(file, '0');
  const open = (): Promise<Field> =>
    openField({ seed, nodeArguments: ['--import', clock], env: { SHIFTED_CLOCK: file } });
  await attempts({ open, times: count, judgedEach: 4, tally, log }, async (field, at) => {
    const shiftMs = shiftsMs[at % shiftsMs.length] ?? 0;
    await field.moment('sync');
    writeFileSync(file, String(shiftMs));
    await pause(livesMs);
    if (at % 3 === 2) await field.supervised.kill('service');
    await field.untilHealed();
    await isShifted(field, shiftMs);
    await field.look().catch((caught: unknown) => {
      throw new Error(`The clock was set to ${shiftMs} ms beside the right time`, { cause: caught });
    });
  });
  rmSync(folder, { recursive: true });
  return tally;
}

/** The last round was completed at the time that the service takes for the right one. */
async function isShifted(field: Field, shiftMs: number): Promise<void> {
  const log = await openProgramLog(field.supervised.program().instance);
  const last = (await log.last('sync', ['actions'])).get('actions');
  await log.close();
  const beside = Date.parse(last?.time ?? '') - Date.now() - shiftMs;
  if (!(Math.abs(beside) < exactToMs)) throw new Error(`The clock of the service is not shifted by ${shiftMs} ms`);
}
