import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { isDamaged } from '../../../src/engine/archive/states.ts';
import { examine } from '../../../src/engine/archive/thread.ts';
import { scrub } from '../../../src/engine/archive/scrub.ts';
import { streamInfo } from '../../../src/engine/archive/chain.ts';
import { currentState, obstacleIn } from '../../../src/engine/archive/archive.ts';
import { createGate } from '../../../src/engine/log/append/gate.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import { rebuildingInWorker } from '../../../src/engine/models/build/rebuild-in-worker.ts';
import { actions } from '../../../src/projections/actions/actions.ts';
import { until } from '../../support/polling.ts';
import { randomHistory } from '../../support/histories/random-history.ts';
import { testNats } from '../../support/programs/servers.ts';
import { actionOf, appendFacts, everything, thinOut } from '../log/fresh-log.ts';
import { rewritingLink } from '../log/rewriting-link.ts';
import { type Kept, keptLog, untilArchived } from './kept.ts';

const { signal } = new AbortController();
const brakes = { confirmAfterMs: 200, restoreEachMs: 3_600_000 };

async function archived(options?: Parameters<typeof keptLog>[0]): Promise<Kept> {
  const kept = await keptLog(options);
  await appendFacts(kept.log, randomHistory(5, { actions: 20 }));
  const { stop } = kept.start();
  await untilArchived(kept, 'ACTIONS');
  await stop();
  return kept;
}

async function createdOf(kept: Kept): Promise<string | undefined> {
  return (await streamInfo(kept, 'ACTIONS'))?.created;
}

test('examine restores a damaged stream on the second observation, and the next time within the hour asks for annals repair', async () => {
  const kept = await archived();
  const before = await everything(kept.log, 'ACTIONS');
  const [never] = (await kept.store.standings()).filter(({ stream }) => stream === 'ACTIONS');
  expect(never).toMatchObject({ scrubbedAt: null, uncomparedSince: expect.stringMatching(/^\d{4}-.*Z$/) });
  await thinOut(kept.nc, kept.network, 'ACTIONS');
  const created = await createdOf(kept);
  const first = await examine(kept, 'ACTIONS', { signal, brakes });
  expect(first).toMatchObject({ done: [], again: { afterMs: 200 } });
  expect(await createdOf(kept)).toBe(created);

  const since = { finding: first.again?.since.finding ?? '', at: 0 };
  expect((await examine(kept, 'ACTIONS', { signal, brakes, before: since })).done).toHaveLength(1);
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);

  await thinOut(kept.nc, kept.network, 'ACTIONS');
  const restored = await createdOf(kept);
  const second = await examine(kept, 'ACTIONS', { signal, brakes, before: since });
  expect(second).toMatchObject({ done: [], again: undefined });
  expect(await createdOf(kept)).toBe(restored);
  const [standing] = (await kept.store.standings()).filter(({ stream }) => stream === 'ACTIONS');
  expect(standing?.findings.join(' ')).toContain('annals repair');
});

test('a stream that answers old counters is believed by its events, and is not deleted', async () => {
  const link = await rewritingLink(testNats().url);
  const kept = await archived({ nats: { ...testNats(), url: link.url } });
  const head = await kept.store.head('ACTIONS');
  if (!head) throw new Error('nothing is archived');
  const created = await createdOf(kept);
  const old = String(head.position - 1).padStart(String(head.position).length, '1');
  for (const key of ['last_seq', 'messages'] as const) {
    link.rewrite(`"${key}":${head.position}`, `"${key}":${old}`);
    expect((await currentState(kept, 'ACTIONS')).state).toBe(key === 'last_seq' ? 'short' : 'holes');
    expect(isDamaged(await scrub(kept, 'ACTIONS', { signal }))).toBe(false);
  }
  kept.audit();
  await until('it was compared nevertheless', async () =>
    (await kept.store.standings()).some(({ stream, scrubbedAt }) => stream === 'ACTIONS' && scrubbedAt !== null),
  );
  expect(await createdOf(kept)).toBe(created);
});

test('a short break of the connection lets the archive go on at its end, without a comparison', async () => {
  const kept = await keptLog();
  kept.start();
  await appendFacts(kept.log, [actionOf('before')]);
  await untilArchived(kept, 'ACTIONS');
  await kept.nc.reconnect();
  await until('the archive goes on', async () => {
    await appendFacts(kept.log, [actionOf('after')]).catch(() => undefined);
    const { lastSequence } = await kept.log.head('ACTIONS');
    return lastSequence > 1 && ((await kept.store.head('ACTIONS'))?.position ?? 0) >= lastSequence;
  });
  const head = await kept.store.head('ACTIONS');
  expect(head).toMatchObject({ suspicion: null });
  expect((await kept.store.standings()).map(({ scrubbedAt }) => scrubbedAt)).not.toContainEqual(expect.any(String));
});

test('no read model is made of a log that lacks what the archive has, until it is back', async () => {
  const kept = await archived();
  const { nc, network, store } = kept;
  const obstacle = obstacleIn({ network, pools: store.pools });
  const source = createLog(nc, network, {
    gate: createGate(nc, (stream) => obstacle(nc, stream), { giveUpAfterMs: 1 }),
  });
  const stores = { nats: testNats(), postgres: kept.postgres, network, pools: store.pools };
  const rebuild = rebuildingInWorker({ ...stores, source });
  const manager = await jetstreamManager(nc);
  const { config } = await manager.streams.info(streamName('ACTIONS', network));
  await manager.streams.delete(config.name);
  await manager.streams.add(config);
  await expect(rebuild(actions, { signal })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('it may have lost events'),
  });
  kept.audit();
  await until('the stream is back', async () =>
    (await currentState(kept, 'ACTIONS')).state === 'whole' ? true : undefined,
  );
  const { facts, position } = await rebuild(actions, { signal });
  expect([facts, position]).toEqual([position, (await kept.log.head('ACTIONS')).lastSequence]);
});
