import { jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { beginning, isSame, type Link } from '../../../src/engine/archive/chain.ts';
import { repairStream } from '../../../src/engine/archive/repair.ts';
import { isDamaged } from '../../../src/engine/archive/states.ts';
import { scrub } from '../../../src/engine/archive/scrub.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import { type Keeps, type StreamName, type StreamPolicies, streamTable } from '../../../src/events/streams.ts';
import { agedArchive } from '../../support/histories/aged-archive.ts';
import { until } from '../../support/polling.ts';
import { cause, decision, everything, probeOf } from '../log/fresh-log.ts';
import { type Kept, keptLog, untilArchived } from './kept.ts';

const { signal } = new AbortController();
const dayMs = 86_400_000;
const keeping = (keeps: Keeps): StreamPolicies => ({ ...streamTable, PROBES: { ...streamTable.PROBES, keeps } });

/** Probes of a node, so many of them, after a sequence. */
async function probe({ log }: Kept, node: string, times: number): Promise<void> {
  const last = (await log.last('probe', [node])).get(node)?.sequence ?? 0;
  const facts = Array.from({ length: times }, (_, at) => probeOf(node, last + at));
  const [first, ...rest] = facts;
  if (first) await log.append([decision(last, first, ...rest)], cause);
}

/**
 * An archive of a stream that keeps three probes of each node, of which most were dropped by it and are archived still.
 */
async function archived(): Promise<Kept> {
  const kept = await keptLog({ policies: keeping({ perEntity: 3 }) });
  await keepOf(kept, 100_000);
  await probe(kept, 'quiet', 2);
  for (let round = 0; round < 6; round++) for (const node of ['a', 'b', 'c']) await probe(kept, node, 1);
  await probe(kept, 'a', 900);
  await probe(kept, 'b', 5);
  await archive(kept);
  await keepOf(kept, 3);
  return kept;
}

/** Makes the stream keep so many facts of each entity from now on. */
async function keepOf({ nc, network }: Kept, perEntity: number, stream: StreamName = 'PROBES'): Promise<void> {
  const manager = await jetstreamManager(nc);
  await manager.streams.update(streamName(stream, network), { max_msgs_per_subject: perEntity });
}

async function rowsOf({ store }: Kept): Promise<Link[]> {
  return [...(await store.read('PROBES', 0, 2000)).links];
}

async function sequencesOf(kept: Kept): Promise<number[]> {
  return (await everything(kept.log, 'PROBES')).map(({ sequence }) => sequence);
}

/** Archives all that is there and stops. */
async function archive(kept: Kept): Promise<void> {
  const { stop } = kept.start();
  await untilArchived(kept, 'PROBES');
  await stop();
}

test('scrub takes nothing for damage that a stream has dropped by itself, and drops it from the archive when it prunes', async () => {
  const kept = await archived();
  const all = await rowsOf(kept);
  expect(isDamaged(await scrub(kept, 'PROBES', { signal }))).toBe(false);
  expect(await rowsOf(kept)).toEqual(all);

  expect(isDamaged(await scrub(kept, 'PROBES', { signal, isPruning: true }))).toBe(false);
  const sequences = await sequencesOf(kept);
  expect(sequences).toHaveLength(2 + 3 * 3);
  expect(await rowsOf(kept)).toEqual(all.filter(({ sequence }) => sequences.includes(sequence)));
});

test('bans of peers leave the archive once their stream has dropped them', async () => {
  const policies = { ...streamTable, PEERS: { ...streamTable.PEERS, keeps: { perEntity: 3 } } };
  const kept = await keptLog({ policies });
  await keepOf(kept, 100, 'PEERS');
  const data = {
    pair: 'a b',
    node: 'a',
    peer: 'b',
    at: cause.at,
    known: { banned: true, count: 0, since: cause.at, address: '127.0.0.1:4445' },
  };
  const facts = Array.from({ length: 10 }, (_, n): Fact => ({
    type: 'PeerBanned',
    data: { ...data, known: { ...data.known, count: n } },
  }));
  await kept.log.append([{ kind: 'peer', entity: 'a b', facts, expected: 0 }], cause);
  const { stop } = kept.start();
  await untilArchived(kept, 'PEERS');
  await stop();
  await keepOf(kept, 3, 'PEERS');
  expect(isDamaged(await scrub(kept, 'PEERS', { signal, isPruning: true }))).toBe(false);
  expect((await kept.store.read('PEERS', 0, 100)).links.map(({ sequence }) => sequence)).toEqual([8, 9, 10]);
});

test('a pruned archive keeps the hash of the last event dropped in each place, and its chain still verifies as it grows and is pruned again', async () => {
  const kept = await archived();
  const all = await rowsOf(kept);
  for (let round = 0; round < 3; round++) {
    await scrub(kept, 'PROBES', { signal, isPruning: true });
    const rows = await rowsOf(kept);
    const anchors = await kept.store.anchors('PROBES', 0, 1e9);
    const hashes = new Map(all.map((link) => [link.sequence, link.hash]));
    for (const { sequence, hash } of anchors) expect(hashes.get(sequence)).toEqual(hash);
    const ties = rows.filter(({ previous }, at) => !isSame(previous, rows[at - 1]?.hash ?? beginning));
    expect(anchors).toHaveLength(ties.length);
    expect(isDamaged(await scrub(kept, 'PROBES', { signal }))).toBe(false);
    await keepOf(kept, 100_000);
    await probe(kept, 'c', 4);
    await probe(kept, 'quiet', 1);
    await archive(kept);
    await keepOf(kept, 3);
    all.push(...(await rowsOf(kept)).filter(({ sequence }) => sequence > (all.at(-1)?.sequence ?? 0)));
  }
});

const damages: Record<string, string> = {
  'a changed anchor': `update archive_anchors set hash = set_byte(hash, 3, get_byte(hash, 3) # 1) where sequence =
    (select min(sequence) from archive_anchors)`,
  'a missing anchor': `delete from archive_anchors where sequence = (select max(sequence) from archive_anchors)`,
  'a changed body behind an anchor': `update archive set body = set_byte(body, 20, get_byte(body, 20) # 1)
    where sequence = (select min(sequence) from archive where sequence > 4)`,
  'a missing row behind an anchor': `delete from archive where sequence = (select min(sequence) from archive where sequence > 4)`,
};

test.each(Object.entries(damages))('%s of a pruned archive is found and written anew as it was', async (_, damage) => {
  const kept = await archived();
  await scrub(kept, 'PROBES', { signal, isPruning: true });
  const [rows, anchors] = [await rowsOf(kept), await kept.store.anchors('PROBES', 0, 1e9)];
  await withClient(kept.store.pools.bulk, async (client) => {
    await client.query(`set search_path = ${metaSchema(kept.network)}`);
    await client.query(damage);
    await client.query('reset search_path');
  });
  const { inArchive } = await scrub(kept, 'PROBES', { signal });
  expect(inArchive.length).toBeGreaterThan(0);
  await repairStream(kept, 'PROBES', { signal });
  expect(isDamaged(await scrub(kept, 'PROBES', { signal }))).toBe(false);
  expect(await rowsOf(kept)).toEqual(rows);
  expect((await kept.store.anchors('PROBES', 0, 1e9)).map(({ hash }) => hash)).toEqual(anchors.map(({ hash }) => hash));
});

test('a stream is restored from a pruned archive, each event at its sequence with nothing between', async () => {
  const kept = await archived();
  await scrub(kept, 'PROBES', { signal, isPruning: true });
  const before = await everything(kept.log, 'PROBES');
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('PROBES', kept.network));
  await repairStream(kept, 'PROBES', { signal });
  expect(await everything(kept.log, 'PROBES')).toEqual(before);
  await probe(kept, 'quiet', 1);
  expect((await sequencesOf(kept)).at(-1)).toBe((before.at(-1)?.sequence ?? 0) + 1);
});

test('an archive by days drops what is too old and gone from the stream, even all of it, and goes on from there', async () => {
  const kept = await keptLog({ policies: keeping({ days: 97 }) });
  const manager = await jetstreamManager(kept.nc);
  await probe(kept, 'a', 1000);
  await probe(kept, 'a', 200);
  await archive(kept);
  const early = Date.now() + 96 * dayMs;
  const late = Date.now() + 98 * dayMs;
  await scrub(kept, 'PROBES', { signal, isPruning: true, now: late });
  expect(await rowsOf(kept)).toHaveLength(1200);

  const name = streamName('PROBES', kept.network);
  await manager.streams.update(name, { max_age: nanos(300), duplicate_window: nanos(300) });
  await until('the stream has dropped all', async () => (await manager.streams.info(name)).state.messages === 0);
  await manager.streams.update(name, { max_age: nanos(97 * dayMs) });
  expect((await scrub(kept, 'PROBES', { signal, now: early })).inStream).toEqual([{ first: 1, last: 1200 }]);
  expect(isDamaged(await scrub(kept, 'PROBES', { signal, isPruning: true, now: late }))).toBe(false);
  expect(await rowsOf(kept)).toEqual([]);

  await probe(kept, 'b', 2);
  await archive(kept);
  expect(isDamaged(await scrub(kept, 'PROBES', { signal, now: late }))).toBe(false);
  expect((await rowsOf(kept)).map(({ sequence }) => sequence)).toEqual([1201, 1202]);
});

test('nothing is dropped while somebody repairs, nor of an archive that keeps all', async () => {
  const kept = await archived();
  const all = await rowsOf(kept);
  await kept.store.alone(() => scrub(kept, 'PROBES', { signal, isPruning: true }));
  const { PROBES } = kept.policies;
  const policies = { ...kept.policies, PROBES: { ...PROBES, archive: 'all' as const } };
  await scrub({ ...kept, policies }, 'PROBES', { signal, isPruning: true });
  expect(await rowsOf(kept)).toEqual(all);
});

test('a thread compares and prunes an old archive chunk by chunk while its process goes on', async () => {
  const kept = await keptLog({ policies: keeping({ perEntity: 600 }), scrubIntervalMs: 100 });
  await agedArchive(kept, { nodes: 20, probes: 1000 });
  expect(await kept.store.count('PROBES')).toBe(20_000);
  kept.audit();
  await until('what the stream has dropped is gone', async () => (await kept.store.count('PROBES')) === 20 * 600);
  const report = await scrub(kept, 'PROBES', { signal });
  expect([isDamaged(report), report.events]).toEqual([false, 20 * 600]);
  expect((await kept.store.standings()).flatMap(({ findings }) => findings)).toEqual([]);
});
