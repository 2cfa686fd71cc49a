import { setTimeout as pause } from 'node:timers/promises';
import { killedStores } from '../../../test/support/kills/store-kills.ts';
import { harmChain } from '../chain-harms.ts';
import type { PartOptions, Tally } from '../part.ts';
import { familyOf, signalAll } from '../processes.ts';

const leastFrozenMs = 2_000;
const mostFrozenMs = 30_000;

/** PostgreSQL and nats-server in turn, halted (SIGSTOP) for up to 30 seconds under a whole local network. */
export async function run(options: PartOptions): Promise<Tally> {
  let at = 0;
  return await harmChain({
    ...options,
    once: async ({ program, random, harm }) => {
      const store = killedStores[at++ % killedStores.length] ?? 'nats';
      const frozenMs = leastFrozenMs + random.below(mostFrozenMs - leastFrozenMs);
      await harm(async () => {
        const family = familyOf(program.servers()[store]);
        signalAll(family, 'SIGSTOP');
        await pause(frozenMs).finally(() => signalAll(family, 'SIGCONT'));
      });
      return `${store} was frozen for ${frozenMs} ms`;
    },
  });
}
