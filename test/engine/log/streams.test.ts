import { jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { type StreamPolicies, type StreamPolicy, streams, streamTable } from '../../../src/events/streams.ts';
import { followStream } from '../../../src/engine/log/follow.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams, incarnationOf, shapeOf, streamName } from '../../../src/engine/log/streams.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { until } from '../../support/polling.ts';
import { cause, connected, decision, everything, freshLog, probeOf, validatorOf } from './fresh-log.ts';

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

/** The table with another policy for one of its streams. */
const withNodes = (policy: Partial<StreamPolicy>): StreamPolicies => ({
  ...streamTable,
  NODES: { ...streamTable.NODES, ...policy },
});

test('ensureStreams gives a stream that exists the kinds that it gains, and republishes those that are live', async () => {
  const nc = await connected();
  const network = freshNetwork();
  const before = withNodes({ kinds: { node: { live: true } } });
  await ensureStreams(nc, network, { policies: before, maxBytes: 1_000_000 });
  const manager = await jetstreamManager(nc);
  const { created } = await manager.streams.info(streamName('NODES', network));

  await ensureStreams(nc, network, {
    policies: withNodes({ kinds: { node: { live: true }, validator: { live: true } } }),
  });
  const grown = await manager.streams.info(streamName('NODES', network));
  expect(grown.created).toBe(created);
  expect(grown.config.subjects).toEqual([`evt.node.${network}.*`, `evt.validator.${network}.*`]);
  expect(grown.config.max_bytes).toBe(1_000_000);

  const seen: string[] = [];
  const live = nc.subscribe('live.>', { callback: (_, { subject }) => void seen.push(subject) });
  onTestFinished(() => live.unsubscribe());
  await createLog(nc, network).append([decision(0, validatorOf('lumeravaloper1a'))], cause);
  await until('the new kind is republished', () => seen.includes(`live.validator.${network}.lumeravaloper1a`));
});

test('ensureStreams refuses a stream that takes in what this version does not know', async () => {
  const { nc, network } = await freshLog();
  const policies = withNodes({ kinds: { node: { live: true } } });
  await expect(ensureStreams(nc, network, { policies })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(`it takes in evt.validator.${network}.*, which this version does not know`),
  });
});

test('ensureStreams stops republishing a kind that is not live any more', async () => {
  const { nc, network } = await freshLog();
  const policies = withNodes({ kinds: { node: { live: false }, validator: { live: false } } });
  await ensureStreams(nc, network, { policies });
  const { config } = await (await jetstreamManager(nc)).streams.info(streamName('NODES', network));
  expect(config.republish).toBeUndefined();
});

test('ensureStreams passes over what the server says beyond what was asked for', async () => {
  const { nc, network } = await freshLog();
  const manager = await jetstreamManager(nc);
  const name = streamName('NODES', network);
  const { config } = await manager.streams.info(name);
  const republish = { src: '', dest: '', ...config.republish, headers_only: true };
  await manager.streams.update(name, { ...config, republish, max_msg_size: 4_000_000 });
  await ensureStreams(nc, network);
  expect((await manager.streams.info(name)).config).toMatchObject({ max_msg_size: 4_000_000 });
});

test('a stream by days forgets by age, and its follower passes over what is gone', async () => {
  const policies = withNodes({ keeps: { days: 97 } });
  const { nc, network, log } = await freshLog({ policies });
  const manager = await jetstreamManager(nc);
  const shorter = { max_age: nanos(500), duplicate_window: nanos(500) };
  await manager.streams.update(streamName('NODES', network), shorter);
  await log.append([decision(0, validatorOf('lumeravaloper1a'))], cause);
  await until('it is forgotten', async () => {
    const { state } = await manager.streams.info(streamName('NODES', network));
    return state.messages === 0;
  });
  await log.append([decision(0, validatorOf('lumeravaloper1b'))], cause);
  const reading = new AbortController();
  const at = { stream: 'NODES', network, after: 0, policy: policies.NODES } as const;
  for await (const { facts } of followStream(nc, at, { signal: reading.signal })) {
    expect(facts.map(({ sequence }) => sequence)).toEqual([2]);
    reading.abort();
  }
});

test('every stream can be set up, and one with several live kinds beside others is refused in words', () => {
  for (const stream of streams) expect(shapeOf(stream, 'main', streamTable[stream]).subjects).not.toEqual([]);
  const transfers: StreamPolicy = {
    kinds: { request: { live: false }, transfer: { live: true } },
    keeps: { days: 97 },
    archive: 'keeps',
    restore: 'operator',
    proven: 'no',
  };
  expect(shapeOf('NODES', 'main', transfers)).toMatchObject({
    max_age: 97 * 86_400e9,
    max_msgs_per_subject: -1,
    republish: { src: 'evt.transfer.main.>', dest: 'live.transfer.main.>' },
  });
  const kinds = { request: { live: false }, transfer: { live: true }, file: { live: true } };
  expect(() => shapeOf('NODES', 'main', { ...transfers, kinds })).toThrow('a stream of their own');
});
