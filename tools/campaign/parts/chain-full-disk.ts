import { execFile } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { seeded } from '../../../test/support/histories/random-history.ts';
import { runProgram } from '../../../test/support/programs/run-program.ts';
import { openStoreKills, wholeNetwork } from '../../../test/support/kills/store-kills.ts';
import { fill, unmount } from '../disk.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

export { whyNoMounts as whyNot } from '../disk.ts';

const sizeMb = 600;
const mostFullMs = 6_000;
const execute = promisify(execFile);

/**
 * A disk without room under a whole local network while transactions of both kinds are sent and files move, then there
 * is room again: the program never ends, and nothing acknowledged is lost.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const dataDir = temporaryFolder();
  const folder = path.join(dataDir, 'local');
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  await execute('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}M,mode=0711`, 'tmpfs', folder]);
  const program = await runProgram({ dataDir, network: 'local', env: wholeNetwork() });
  const ballast = path.join(folder, 'ballast');
  let passed = 0;
  try {
    await program.untilReady();
    const chain = openStoreKills(program);
    const random = seeded(seed);
    for (; passed < count; passed += 1) {
      const fullMs = 1_000 + random.below(mostFullMs);
      await chain.harm(async () => {
        await fill(ballast);
        await pause(fullMs).finally(() => rmSync(ballast, { force: true }));
      }, random);
      log(`the disk was full for ${fullMs} ms`);
    }
    const { ethereum, cosmos, files } = await chain.judge();
    log(`acknowledged: ${ethereum} of the virtual machine, ${cosmos} of the chain, ${files} uploads`);
    chain.end();
    return { passed, failed: 0 };
  } finally {
    rmSync(ballast, { force: true });
    await program.stop();
    await unmount(folder);
    rmSync(dataDir, { recursive: true, force: true });
  }
}
