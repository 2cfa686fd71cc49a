import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../../../test/support/histories/random-history.ts';
import { runProgram } from '../../../test/support/programs/run-program.ts';
import { killedStores, openStoreKills, wholeNetwork } from '../../../test/support/kills/store-kills.ts';
import type { PartOptions, Tally } from '../part.ts';
import { familyOf, signalAll } from '../processes.ts';
import { temporaryFolder } from '../../../test/support/programs/temporary-folder.ts';

const leastFrozenMs = 2_000;
const mostFrozenMs = 30_000;

/**
 * PostgreSQL and nats-server in turn, halted (SIGSTOP) for up to 30 seconds under a whole local network
 * while transactions of both kinds are sent and files move: the program never ends, and nothing acknowledged is lost.
 */
export async function run({ count, seed, log }: PartOptions): Promise<Tally> {
  const dataDir = temporaryFolder();
  const program = await runProgram({ dataDir, network: 'local', env: wholeNetwork() });
  await program.untilReady();
  const chain = openStoreKills(program);
  const random = seeded(seed);
  let passed = 0;
  try {
    for (; passed < count; passed += 1) {
      const store = killedStores[passed % killedStores.length] ?? 'nats';
      const frozenMs = leastFrozenMs + random.below(mostFrozenMs - leastFrozenMs);
      await chain.harm(async () => {
        const family = familyOf(program.servers()[store]);
        signalAll(family, 'SIGSTOP');
        await pause(frozenMs).finally(() => signalAll(family, 'SIGCONT'));
      }, random);
      log(`${store} was frozen for ${frozenMs} ms`);
    }
    const { ethereum, cosmos, files } = await chain.judge();
    log(`acknowledged: ${ethereum} of the virtual machine, ${cosmos} of the chain, ${files} uploads`);
    return { passed, failed: 0 };
  } finally {
    chain.end();
    await program.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}
