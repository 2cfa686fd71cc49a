import { rmSync } from 'node:fs';
import { inspect } from 'node:util';
import { killedRoles, openEvmKills } from '../../../test/support/evm-kills.ts';
import { seeded } from '../../../test/support/random-history.ts';
import type { PartOptions, Tally } from '../part.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/**
 * `kill -9` of the sealer, the projector and the JSON-RPC of the local chain, `count` times each under a load of
 * transfers: every acknowledged one is in exactly one block afterwards, and the head never went back.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const folders: string[] = [];
  const newFolder = (): string => {
    const folder = temporaryFolder();
    folders.push(folder);
    return folder;
  };
  const kills = await openEvmKills(newFolder);
  const random = seeded(seed);
  try {
    for (let kill = 0; kill < count; kill += 1) for (const role of killedRoles) log(await kills.kill(role, random));
    const { acknowledged, head, late } = await kills.judge();
    log(`${acknowledged} acknowledged transactions, each in one of ${head} blocks; ${late} answers without a state`);
    return { passed: count * killedRoles.length, failed: 0 };
  } catch (caught) {
    log(inspect(caught, { depth: 3 }));
    return { passed: 0, failed: 1 };
  } finally {
    await kills.close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}
