import { afterAll, beforeAll, expect, test } from 'vitest';
import { toAppError } from '../../../../src/kit/errors.ts';
import { entityOf } from '../../../../src/events/catalogue.ts';
import { createLog } from '../../../../src/engine/log/log.ts';
import type { GroupPace } from '../../../../src/engine/log/append/groups.ts';
import { ensureStreams } from '../../../../src/engine/log/streams.ts';
import { type NatsCluster, startNatsCluster } from '../../../support/programs/nats-cluster.ts';
import { freshNetwork } from '../../../support/programs/servers.ts';
import { cause, connected, decision, everything, probeOf } from '../fresh-log.ts';

let cluster: NatsCluster;
beforeAll(async () => (cluster = await startNatsCluster()), 60_000);
afterAll(() => cluster?.stop());

test('append in groups with three copies stores each fact once, beside a conflict and while the leader is killed', async () => {
  const [{ username, password }] = cluster.url.split(',').map((url) => new URL(url)) as [URL];
  const nc = await connected({ url: cluster.url, user: username, pass: password });
  const network = freshNetwork();
  await ensureStreams(nc, network);
  await cluster.untilWhole();
  let groups = 0;
  const pace: GroupPace = { isForGroup: (size) => size > 1, alone: () => undefined, grouped: () => void groups++ };
  const log = createLog(nc, network);
  const grouping = createLog(nc, network, { pace });

  await log.append([decision(0, probeOf('n25'))], cause);
  const leader = await cluster.leaderOf(`PROBES_${network}`);
  let killed: Promise<void> | undefined;
  const total = 400;
  const outcomes: string[] = [];
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < total) {
      const i = next++;
      if (i === 200) killed = leader.kill();
      outcomes[i] = await grouping.append([decision(0, probeOf(`n${i}`, 5))], cause).then(
        () => 'stored',
        (caught: unknown) => toAppError(caught).code,
      );
    }
  };
  await Promise.all(Array.from({ length: 32 }, writer));
  await killed;
  expect(outcomes.flatMap((outcome, i) => (outcome === 'stored' ? [] : [`n${i} ${outcome}`]))).toEqual([
    'n25 CONFLICT',
  ]);
  const facts = await everything(log, 'PROBES');
  expect(facts).toHaveLength(total);
  expect(new Set(facts.map(({ fact }) => entityOf(fact))).size).toBe(total);
  expect(groups).toBeGreaterThan(5);
}, 90_000);
