import { expect, test } from 'vitest';
import { startProgram } from '../support/programs/program.ts';
import { seeded } from '../support/histories/random-history.ts';
import { harmLog, type LogHarm } from '../support/kills/log-harm.ts';
import { killedStores, openStoreKills, wholeNetwork } from '../support/kills/store-kills.ts';

/** How often each store is killed; `KILLS` says otherwise. */
const killsOfEach = Number(process.env['KILLS'] ?? 10);
/** Decides the moments; `KILLS_SEED` says otherwise. */
const seed = Number(process.env['KILLS_SEED'] ?? 1);
/** The log of the chain, which is restored from the archive, and its submissions, of which there is none. */
const damages: readonly LogHarm[] = [
  { stream: 'LEDGER', kind: 'flip' },
  { stream: 'POOL', kind: 'cut' },
];

test(
  'a local network outlives kills of PostgreSQL and nats-server and damaged files of its log: nothing acknowledged is lost or doubled',
  { tags: ['S1.evm.store-kills'], timeout: 240_000 + killsOfEach * 40_000 },
  async () => {
    process.stdout.write(`kills of each: ${killsOfEach}, KILLS_SEED=${seed}\n`);
    const program = await startProgram({ network: 'local', env: wholeNetwork() });
    await program.untilReady();
    const kills = openStoreKills(program);
    try {
      const random = seeded(seed);
      for (let round = 0; round < killsOfEach; round += 1)
        for (const store of killedStores) await kills.kill(store, random);
      for (const damage of damages)
        await kills.harm(async () => {
          process.stdout.write(`${await harmLog(program, damage, random)}\n`);
        }, random);
      const { ethereum, cosmos, files } = await kills.judge();
      process.stdout.write(
        `acknowledged: ${ethereum} of the virtual machine, ${cosmos} of the chain, ${files} uploads\n`,
      );
      expect(Math.min(ethereum, cosmos)).toBeGreaterThanOrEqual(killsOfEach);
      expect(files).toBeGreaterThan(0);
    } finally {
      kills.end();
    }
  },
);
