import { rmSync } from 'node:fs';
import { inspect } from 'node:util';
import { killPoints, openGatewayKills } from '../../../test/support/gateway-kills.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/**
 * `kill -9` of the gateway and its stores at each step of an upload and of a download, `count` times each: the task
 * comes to its right end, no file is left, and who reconnects sees each state once.
 */
export async function run({ count, log }: PartOptions): Promise<Tally> {
  const tally = { passed: 0, failed: 0 };
  const [dataDir, transferDir] = [temporaryFolder(), temporaryFolder()];
  const kills = await openGatewayKills({ dataDir, transferDir });
  try {
    for (const point of Array.from({ length: count }, () => killPoints).flat())
      try {
        log(await kills.kill(point));
        tally.passed += 1;
      } catch (caught) {
        log(`${point}: ${inspect(caught, { depth: 3 })}`);
        tally.failed += 1;
      }
    return tally;
  } finally {
    await kills.close();
    for (const folder of [dataDir, transferDir]) rmSync(folder, { recursive: true, force: true });
  }
}
