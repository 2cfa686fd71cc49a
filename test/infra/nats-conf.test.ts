import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDurability } from '../../src/engine/log/durability.ts';
import { testOutsiders } from '../engine/log/outsider-contract.ts';
import { type NatsCluster, startNatsCluster } from '../support/programs/nats-cluster.ts';

describe('a nats-server that runs with infra/nats/nats.conf', () => {
  let server: NatsCluster;
  beforeAll(async () => (server = await startNatsCluster(1)));
  afterAll(() => server?.stop());

  testOutsiders(() => {
    const [node] = server.nodes;
    return { url: node?.url ?? '', wsUrl: node?.wsUrl ?? '', user: server.user, pass: server.pass };
  });

  test('writes to disk before it acknowledges', async () => {
    expect(await readDurability(server.nodes[0]?.monitorUrl)).toBe('strict');
  });
});
