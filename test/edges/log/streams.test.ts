import { jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { ensureStreams, incarnationOf, streamName } from '../../../src/edges/log/streams.ts';
import { freshNetwork } from '../../support/servers.ts';
import { cause, connected, decision, everything, freshLog, probeOf } from './fresh-log.ts';

test('ensureStreams creates every stream as the log needs it, also when many start at once', async () => {
  const nc = await connected();
  const network = freshNetwork();
  await Promise.all(Array.from({ length: 8 }, () => ensureStreams(nc, network)));
  await ensureStreams(nc, network);
  const manager = await jetstreamManager(nc);
  const { config, created, ...info } = await manager.streams.info(streamName('PROBES', network));
  expect(config).toMatchObject({
    name: `PROBES_${network}`,
    subjects: [`evt.probe.${network}.*`],
    storage: 'file',
    compression: 's2',
    discard: 'new',
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
    allow_atomic: true,
    max_msgs_per_subject: 43_200,
    max_age: 0,
    duplicate_window: 120e9,
    republish: { src: `evt.probe.${network}.>`, dest: `live.probe.${network}.>` },
  });
  expect(incarnationOf({ config, created, ...info })).toBe(created);
  const sync = await manager.streams.info(streamName('SYNC', network));
  expect(sync.config).toMatchObject({ max_msgs_per_subject: 10_000 });
  expect(sync.config.republish).toBeUndefined();
});

test('ensureStreams names what differs in a stream that exists with another configuration', async () => {
  const nc = await connected();
  const network = freshNetwork();
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: streamName('ACTIONS', network), subjects: [`evt.action.${network}.*`] });
  await expect(ensureStreams(nc, network)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/ACTIONS_.* deny_delete is (false|undefined), not true/),
  });
});

test('ensureStreams applies a new size and keeps the one it has when none is asked for', async () => {
  const { nc, network } = await freshLog({ maxBytes: 1_000_000 });
  const sizes = async (): Promise<number> =>
    (await (await jetstreamManager(nc)).streams.info(streamName('NODES', network))).config.max_bytes;
  await ensureStreams(nc, network);
  expect(await sizes()).toBe(1_000_000);
  await ensureStreams(nc, network, { maxBytes: 2_000_000 });
  expect(await sizes()).toBe(2_000_000);
});

test('a stream with a limit per entity drops the oldest fact of that entity and takes the new one', async () => {
  const { nc, network, log } = await freshLog();
  const manager = await jetstreamManager(nc);
  await manager.streams.update(streamName('PROBES', network), { max_msgs_per_subject: 3 });
  await log.append([decision(0, probeOf('quiet'))], cause);
  for (let i = 0; i < 10; i++) await log.append([decision(i === 0 ? 0 : i + 1, probeOf('busy', i))], cause);
  expect((await everything(log, 'PROBES')).map(({ sequence }) => sequence)).toEqual([1, 9, 10, 11]);
  const batch = [probeOf('busy', 10), probeOf('busy', 11)] as const;
  await log.append([decision(11, ...batch)], cause);
  expect((await everything(log, 'PROBES')).map(({ sequence }) => sequence)).toEqual([1, 11, 12, 13]);
});
