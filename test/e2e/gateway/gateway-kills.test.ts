import { Kvm } from '@nats-io/kv';
import { expect, onTestFinished, test } from 'vitest';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { presentIn } from '../../../src/engine/log/presence.ts';
import { killPoints, openGatewayKills } from '../../support/kills/gateway-kills.ts';
import { dataFolder } from '../../support/programs/program.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';

/** How often the gateway is killed at each point; where `KILLS` names a number, its stores are killed with it. */
const killsOfEach = process.env['KILLS'];

test(
  'a gateway that is killed at any step of an upload or a download goes on with it, and no state is lost or repeated',
  { tags: ['S3.restart.kills'], timeout: 240_000 * Number(killsOfEach ?? 1) },
  async () => {
    const where = { dataDir: dataFolder(), transferDir: dataFolder(), network: freshNetwork() };
    const kills = await openGatewayKills({
      ...where,
      ...(killsOfEach === undefined && { env: await externalStores(), onKilled: await leasesKept(where.network) }),
    });
    try {
      for (let kill = 0; kill < Number(killsOfEach ?? 1); kill += 1)
        for (const point of killPoints) expect(await kills.kill(point)).toContain('killed');
    } finally {
      await kills.close();
    }
  },
);

const renewedEachMs = 500;

/**
 * Renews the leases of gateways that were killed as if they lived on: who goes on with their tasks has waited for no
 * lease to run out, however slow the machine is.
 */
async function leasesKept(network: string): Promise<() => Promise<void>> {
  const nc = await connectNats({ ...testNats(), name: 'leases of the dead' });
  const dead = new Set<string>();
  const renew = async (): Promise<void> => {
    if (dead.size === 0) return;
    const bucket = await new Kvm(nc).open(`annals-gateways_${network}`);
    await Promise.all([...dead].map(async (name) => await bucket.put(name, 'kept')));
  };
  const renewing = setInterval(() => void renew().catch(() => undefined), renewedEachMs);
  onTestFinished(async () => {
    clearInterval(renewing);
    await nc.close();
  });
  return async () => {
    for (const name of await presentIn(nc, { network, group: 'gateways' })) dead.add(name);
    expect(dead.size).toBeGreaterThan(0);
  };
}

/** Stores of the test run, which outlive the gateway. */
async function externalStores(): Promise<Readonly<Record<string, string>>> {
  const { url, user: natsUser, pass } = testNats();
  const nats = new URL(url.includes('://') ? url : `nats://${url}`);
  const { host = '', port, user, database } = await freshDatabase();
  return {
    NATS_URL: `nats://${natsUser}:${pass}@${nats.host}`,
    DB_DSN: `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`,
  };
}
