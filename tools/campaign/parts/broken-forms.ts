import { rmSync } from 'node:fs';
import { sendBrokenForms } from '../../../test/support/broken-forms.ts';
import { runProgram } from '../../../test/support/run-program.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** So many broken forms to the gateway of a local network: each is refused, none with 5xx, and no file is left. */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const dataDir = temporaryFolder();
  const env = { LOCAL_SUBNET: `127.${10 + (seed % 200)}.${Math.floor(seed / 200) % 250}`, RATE_LIMIT: 'off' };
  const program = await runProgram({ dataDir, network: 'local', env });
  try {
    await program.untilReady();
    const faults = await sendBrokenForms(program, { count, seed });
    for (const fault of faults) log(fault);
    return { passed: Math.max(0, count - faults.length), failed: faults.length };
  } finally {
    await program.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
