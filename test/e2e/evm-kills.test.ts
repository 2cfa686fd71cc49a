import { expect, test } from 'vitest';
import { gasCap, killedRoles, openEvmKills } from '../support/kills/evm-kills.ts';
import { dataFolder } from '../support/programs/program.ts';
import { seeded } from '../support/histories/random-history.ts';

/** How often each role is killed; `KILLS` sets another number, `KILLS_SEED` other moments. */
const killsOfEach = Number(process.env['KILLS'] ?? 1);
const seed = Number(process.env['KILLS_SEED'] ?? 11);

test(
  'sealer, projector and JSON-RPC are killed under load: what was acknowledged is mined exactly once',
  { tags: ['S1.evm.kills', 'S1.evm.limits'], timeout: 200_000 + killsOfEach * 60_000 },
  async () => {
    const kills = await openEvmKills(dataFolder);
    try {
      const random = seeded(seed);
      for (let kill = 0; kill < killsOfEach; kill += 1)
        for (const role of killedRoles) expect(await kills.kill(role, random)).toContain('killed');
      const { acknowledged } = await kills.judge();
      expect(acknowledged).toBeGreaterThan(killsOfEach * killedRoles.length);
      // What a call costs before it runs its first instruction.
      expect(await kills.gasOfCall()).toBe(gasCap - 21_002);
    } finally {
      await kills.close();
    }
  },
);
