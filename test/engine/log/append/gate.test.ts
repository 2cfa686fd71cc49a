import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { obstacleIn } from '../../../../src/engine/archive/archive.ts';
import { createGate } from '../../../../src/engine/log/append/gate.ts';
import { createLog, type Log } from '../../../../src/engine/log/log.ts';
import { ensureStreams, streamName } from '../../../../src/engine/log/streams.ts';
import { createPools } from '../../../../src/engine/models/pool.ts';
import { until } from '../../../support/polling.ts';
import { actionOf, appendFacts, cause, connected, decision, freshLog } from '../fresh-log.ts';

/** A log behind a gate that is told whether the stream is whole, and counts how often it asks. */
async function gated(): Promise<{
  nc: NatsConnection;
  network: string;
  log: Log;
  told: { isWhole: boolean; asked: number };
}> {
  const { nc, network } = await freshLog();
  const told = { isWhole: true, asked: 0 };
  const gate = createGate(nc, async () => {
    told.asked += 1;
    return await Promise.resolve(told.isWhole ? undefined : 'it lacks something');
  });
  return { nc, network, log: createLog(nc, network, { gate }), told };
}

test('createGate holds an append back after a break of the connection until the stream is whole again', async () => {
  const { nc, log, told } = await gated();
  await appendFacts(log, [actionOf('before')]);
  await appendFacts(log, [actionOf('again')]);
  expect(told.asked).toBe(1);

  const { lastSequence } = await log.head('ACTIONS');
  told.isWhole = false;
  await nc.reconnect();
  const appending = until('the broker answers again', async () => {
    await appendFacts(log, [actionOf('after')]);
    return true;
  });
  await until('it asks again', () => told.asked > 3);
  expect((await log.head('ACTIONS')).lastSequence).toBe(lastSequence);
  told.isWhole = true;
  await appending;
  expect((await log.head('ACTIONS')).lastSequence).toBe(lastSequence + 1);
});

test('an append that is repeated after a break waits for the gate too', async () => {
  const { nc, network, log, told } = await gated();
  await appendFacts(log, [actionOf('before')]);
  const manager = await jetstreamManager(nc);
  await manager.streams.delete(streamName('ACTIONS', network));
  const appending = log.append([decision(0, actionOf('after'))], cause);
  told.isWhole = false;
  await nc.reconnect();
  await ensureStreams(await connected(), network);
  await until('it asks again and again', () => told.asked > 4);
  expect((await log.head('ACTIONS')).lastSequence).toBe(0);
  told.isWhole = true;
  await appending;
  expect((await log.head('ACTIONS')).lastSequence).toBe(1);
});

test('while the database is away nobody knows whether a stream is whole, so writers wait and are refused in words', async () => {
  const { nc, network } = await freshLog();
  const pools = createPools(
    { host: '127.0.0.1', port: 1, user: 'nobody', database: 'none' },
    { applicationName: 'away' },
  );
  const obstacle = obstacleIn({ network, pools });
  const gate = createGate(nc, (stream) => obstacle(nc, stream), { giveUpAfterMs: 300 });
  const log = createLog(nc, network, { gate });
  await expect(appendFacts(log, [actionOf('one')])).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/^Nobody writes to ACTIONS at present: it is not known whether it is whole \(/),
  });
  expect((await log.head('ACTIONS')).lastSequence).toBe(0);
  await pools.end();
});
