import { expect, test } from 'vitest';
import { killPoints, openGatewayKills } from '../support/gateway-kills.ts';
import { dataFolder } from '../support/program.ts';
import { freshDatabase, freshNetwork, testNats } from '../support/servers.ts';

test(
  'a gateway that is killed at any step of an upload or a download goes on with it, and no state is lost or repeated',
  { tags: ['S3.restart.kills'], timeout: 240_000 },
  async () => {
    const { url, user: natsUser, pass } = testNats();
    const nats = new URL(url.includes('://') ? url : `nats://${url}`);
    const { host = '', port, user, database } = await freshDatabase();
    const env = {
      NATS_URL: `nats://${natsUser}:${pass}@${nats.host}`,
      DB_DSN: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
    };
    const where = { dataDir: dataFolder(), transferDir: dataFolder(), network: freshNetwork() };
    const kills = await openGatewayKills({ ...where, env });
    try {
      for (const point of killPoints) expect(await kills.kill(point)).toContain('killed');
    } finally {
      await kills.close();
    }
  },
);
