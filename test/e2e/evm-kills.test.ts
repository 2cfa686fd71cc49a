import { expect, test } from 'vitest';
import { killedRoles, openEvmKills } from '../support/evm-kills.ts';
import { dataFolder } from '../support/program.ts';
import { seeded } from '../support/random-history.ts';

test(
  'sealer, projector and JSON-RPC are killed under load: what was acknowledged is mined exactly once',
  { tags: ['S1.evm.kills'], timeout: 240_000 },
  async () => {
    const kills = await openEvmKills(dataFolder);
    try {
      const random = seeded(11);
      for (const role of killedRoles) expect(await kills.kill(role, random)).toContain('killed');
      const { acknowledged } = await kills.judge();
      expect(acknowledged).toBeGreaterThan(killedRoles.length);
    } finally {
      await kills.close();
    }
  },
);
