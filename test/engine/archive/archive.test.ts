import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { jetstreamManager } from '@nats-io/jetstream';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import { drainArchive } from '../../../src/engine/archive/archive.ts';
import { repairStream } from '../../../src/engine/archive/repair.ts';
import { restoreStream } from '../../../src/engine/archive/restore.ts';
import { scrub } from '../../../src/engine/archive/scrub.ts';
import { isDamaged } from '../../../src/engine/archive/states.ts';
import { streamInfo } from '../../../src/engine/archive/chain.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { until } from '../../support/polling.ts';
import { randomHistory } from '../../support/histories/random-history.ts';
import { actionOf, appendFacts, everything, thinOut } from '../log/fresh-log.ts';
import { type Kept, keptLog, untilArchived } from './kept.ts';

const options = { signal: new AbortController().signal };

/** A log of actions that is archived whole, with nobody keeping the archive any more. */
async function archived(actions = 40): Promise<Kept> {
  const kept = await keptLog();
  await appendFacts(kept.log, randomHistory(5, { actions }));
  const { stop } = kept.start();
  await untilArchived(kept, 'ACTIONS');
  await stop();
  return kept;
}

test('keepArchive holds every event of the log, and scrub finds nothing', async () => {
  const kept = await archived();
  const report = await scrub(kept, 'ACTIONS', options);
  expect(isDamaged(report)).toBe(false);
  expect(report.events).toBe((await kept.log.head('ACTIONS')).lastSequence);
  expect(report.events).toBeGreaterThan(50);
});

test('scrub compares as far as the archive went when it began, however much is archived meanwhile', async () => {
  const kept = await archived(700);
  const head = await kept.store.head('ACTIONS');
  const before = await kept.store.before('ACTIONS', 501);
  if (!head || !before) throw new Error('nothing is archived');
  expect(head.position).toBeGreaterThan(1000);
  const earlier = { ...head, position: before.sequence, hash: before.hash };
  const report = await scrub({ ...kept, store: { ...kept.store, head: async () => earlier } }, 'ACTIONS', options);
  expect([isDamaged(report), report.events]).toEqual([false, 500]);
});

test('repairStream brings events back that the stream lost, at their sequences and in the same life', async () => {
  const kept = await archived();
  const [before, head] = [await everything(kept.log, 'ACTIONS'), await kept.log.head('ACTIONS')];
  await thinOut(kept.nc, kept.network, 'ACTIONS');
  const { inStream } = await scrub(kept, 'ACTIONS', options);
  expect(inStream.length).toBeGreaterThan(0);

  const { done } = await repairStream(kept, 'ACTIONS', options);
  expect(done).toHaveLength(1);
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);
  const after = await kept.log.head('ACTIONS');
  expect(after).toMatchObject({ incarnation: head.incarnation, lastSequence: head.lastSequence });
  expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
  await ensureStreams(kept.nc, kept.network);
  await appendFacts(kept.log, [actionOf('a new one')]);
  expect((await kept.log.head('ACTIONS')).lastSequence).toBe(head.lastSequence + 1);
});

test('repairStream makes a stream again that is gone', async () => {
  const kept = await archived();
  const before = await everything(kept.log, 'ACTIONS');
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('ACTIONS', kept.network));
  expect((await scrub(kept, 'ACTIONS', options)).state).toBe('missing');
  await repairStream(kept, 'ACTIONS', options);
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);
});

test('scrub fails when it is ended early, and nothing is mended from half a look', async () => {
  const kept = await archived();
  const before = await kept.store.read('ACTIONS', 0, 1000);
  const ended = { signal: AbortSignal.abort() };
  await expect(scrub(kept, 'ACTIONS', ended)).rejects.toThrow('was ended before it was done');
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('ACTIONS', kept.network));
  await expect(repairStream(kept, 'ACTIONS', ended)).rejects.toThrow('was ended before it was done');
  expect(await streamInfo(kept, 'ACTIONS')).toBeUndefined();
  expect(await kept.store.read('ACTIONS', 0, 1000)).toEqual(before);
});

const damages: Record<string, string> = {
  'a changed body': `update archive set body = set_byte(body, 20, get_byte(body, 20) # 1) where sequence = 7`,
  'a changed hash': `update archive set hash = set_byte(hash, 3, get_byte(hash, 3) # 1) where sequence = 7`,
  'a changed previous hash': `update archive set previous = set_byte(previous, 3, get_byte(previous, 3) # 1) where sequence = 7`,
  'a changed subject': `update archive set subject = 'evt.action.x.y' where sequence = 7`,
  'a changed time': `update archive set stored_nanos = 5 where sequence = 7`,
  'a missing row': `delete from archive where sequence = 7`,
  'missing rows at the beginning': `delete from archive where sequence < 12`,
  'missing rows at the end': `delete from archive where sequence > 40`,
  'no rows at all': `delete from archive`,
};

test.each(Object.entries(damages))(
  'repairStream writes %s of the archive anew, with the hashes of before',
  async (_name, damage) => {
    const kept = await archived();
    const before = await kept.store.read('ACTIONS', 0, 1000);
    await withClient(kept.store.pools.bulk, async (client) => {
      await client.query(`set search_path = ${metaSchema(kept.network)}`);
      await client.query(damage);
      await client.query('reset search_path');
    });
    const { inArchive, inStream } = await scrub(kept, 'ACTIONS', options);
    expect(inArchive.length).toBeGreaterThan(0);
    expect(inStream).toEqual([]);
    await repairStream(kept, 'ACTIONS', options);
    expect(await kept.store.read('ACTIONS', 0, 1000)).toEqual(before);
    expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
  },
);

test('repairStream says exactly what neither store has, and keeps everything else', async () => {
  const kept = await archived();
  const before = await everything(kept.log, 'ACTIONS');
  await thinOut(kept.nc, kept.network, 'ACTIONS');
  const { inStream } = await scrub(kept, 'ACTIONS', options);
  const lost = inStream[0]?.first ?? 0;
  await withClient(kept.store.pools.bulk, (client) =>
    client.query(`update ${metaSchema(kept.network)}.archive set body = '' where sequence = $1`, [lost]),
  );
  expect((await scrub(kept, 'ACTIONS', options)).inBoth).toEqual([{ first: lost, last: lost }]);
  const { done } = await repairStream(kept, 'ACTIONS', options);
  expect(done).toContainEqual(expect.stringContaining('but for what is lost'));
  const id = (await kept.store.read('ACTIONS', lost - 1, 1)).links[0]?.id;
  expect(await kept.store.losses()).toEqual([
    { stream: 'ACTIONS', first: lost, last: lost, ids: [id], reason: 'damaged in the stream and in the archive' },
  ]);
  expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
  expect(await everythingBut(kept, lost)).toEqual(before.filter(({ sequence }) => sequence !== lost));
  await expect(everything(kept.log, 'ACTIONS')).rejects.toMatchObject({ sequence: lost });
});

/** Every event of a stream that has a hole. */
async function everythingBut({ log }: Kept, hole: number): Promise<unknown[]> {
  const { lastSequence } = await log.head('ACTIONS');
  const sequences = Array.from({ length: lastSequence }, (_, index) => index + 1).filter((one) => one !== hole);
  return await Promise.all(sequences.map((sequence) => log.readOne('ACTIONS', sequence)));
}

test('repairStream restores what is archived of a stream that was created anew, and writes what it held to a file', async () => {
  const kept = await archived();
  const [before, head] = [await everything(kept.log, 'ACTIONS'), await kept.log.head('ACTIONS')];
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('ACTIONS', kept.network));
  await ensureStreams(kept.nc, kept.network);
  await appendFacts(kept.log, [actionOf('another'), actionOf('one more')]);
  const report = await scrub(kept, 'ACTIONS', options);
  expect(report).toMatchObject({ state: 'replaced', foreign: [{ first: 1, last: 2 }], inArchive: [] });

  const { done } = await repairStream(kept, 'ACTIONS', options);
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);
  expect(await kept.log.head('ACTIONS')).not.toMatchObject({ incarnation: head.incarnation });
  const [file = ''] = await foreignFiles(kept);
  expect(done[0]).toContain(`2 events that were in its place are in ${file}`);
  expect(await actionsIn(file)).toEqual(['another', 'one more']);
  expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
});

test('repairStream writes to a file what a stream took in after it had gone back, and the archive goes on', async () => {
  const kept = await archived();
  const [before, head] = [await everything(kept.log, 'ACTIONS'), await kept.store.head('ACTIONS')];
  const { incarnation, position } = head ?? { incarnation: '', position: 0 };
  const goneBackTo = position - 3;
  await restoreStream(kept, { stream: 'ACTIONS', position: goneBackTo, incarnation });
  const facts = Array.from({ length: 5 }, (_, index) => actionOf(`other ${index}`));
  await appendFacts(kept.log, facts);
  const foreign = [{ first: goneBackTo + 1, last: position }];
  expect(await scrub(kept, 'ACTIONS', options)).toMatchObject({ state: 'whole', foreign, inStream: foreign });

  await repairStream(kept, 'ACTIONS', options);
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);
  const [file = ''] = await foreignFiles(kept);
  expect(await actionsIn(file)).toEqual(facts.map(({ data }) => data.action));
  kept.start();
  await appendFacts(kept.log, [actionOf('a new one')]);
  await untilArchived(kept, 'ACTIONS');
  expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
});

test('what follows events that only a read model had seen is restored like the others', async () => {
  const kept = await archived();
  const head = await kept.store.head('ACTIONS');
  const { incarnation, position } = head ?? { incarnation: '', position: 0 };
  await withClient(kept.store.pools.bulk, (client) =>
    client.query(
      `insert into ${metaSchema(kept.network)}.generations
        (projection, generation, version, fingerprint, schema_name, status, stream, incarnation, position, epoch)
        values ('seen', 1, 1, '', 'none', 'live', 'ACTIONS', $1, $2, 1)`,
      [incarnation, position + 2],
    ),
  );
  await repairStream(kept, 'ACTIONS', options);
  expect(await kept.store.losses()).toMatchObject([{ first: position + 1, last: position + 2 }]);
  const { stop } = kept.start();
  await appendFacts(kept.log, [actionOf('a new one'), actionOf('one more')]);
  await untilArchived(kept, 'ACTIONS');
  await stop();
  const { lastSequence } = await kept.log.head('ACTIONS');
  expect(lastSequence).toBe(position + 2);
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('ACTIONS', kept.network));
  await repairStream(kept, 'ACTIONS', options);
  expect(await kept.log.readOne('ACTIONS', lastSequence)).toMatchObject({ fact: actionOf('one more') });
});

/** The files of foreign events, in order. */
async function foreignFiles({ folder }: Kept): Promise<string[]> {
  const own = path.join(folder, 'foreign-events');
  return (await readdir(own)).toSorted().map((name) => path.join(own, name));
}

/** The actions that the events in a file of foreign events are about. */
async function actionsIn(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { event: { data: { action: string } } }).event.data.action);
}

test('the auditor restores by itself what is damaged, and the archive goes on', async () => {
  const kept = await keptLog({ scrubIntervalMs: 200 });
  await appendFacts(kept.log, randomHistory(6, { actions: 20 }));
  kept.start();
  kept.audit();
  await untilArchived(kept, 'ACTIONS');
  const before = await everything(kept.log, 'ACTIONS');
  await thinOut(kept.nc, kept.network, 'ACTIONS');
  await until('the stream is whole again', async () => {
    const info = await streamInfo(kept, 'ACTIONS');
    return info?.state.messages === before.length && info.config.deny_delete;
  });
  expect(await everything(kept.log, 'ACTIONS')).toEqual(before);
  await appendFacts(kept.log, [actionOf('a new one')]);
  await untilArchived(kept, 'ACTIONS');
});

test('keepArchive makes a stream again that is gone, though nothing was ever in it', async () => {
  const kept = await keptLog();
  const { stop } = kept.start();
  await until('the archive knows the stream', async () => (await kept.store.head('LEDGER')) !== undefined);
  await stop();
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('LEDGER', kept.network));
  kept.start();
  await until('the stream is there again', async () => {
    const info = await streamInfo(kept, 'LEDGER');
    return info?.config.deny_delete === true;
  });
  expect(isDamaged(await scrub(kept, 'LEDGER', options))).toBe(false);
});

test('keepArchive makes a stream again that is gone and has no archive', async () => {
  const kept = await keptLog();
  kept.start();
  await until('the archive is kept', async () => (await kept.store.head('LEDGER')) !== undefined);
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('POOL', kept.network));
  await until('it is there again', async () => (await streamInfo(kept, 'POOL'))?.config.deny_delete === true);
});

test('keepArchive makes a stream again that is gone, and of which an archive that was made anew knows nothing', async () => {
  const kept = await keptLog();
  await (await jetstreamManager(kept.nc)).streams.delete(streamName('LEDGER', kept.network));
  kept.start();
  await until('the archive knows the stream', async () => (await kept.store.head('LEDGER')) !== undefined);
  expect((await streamInfo(kept, 'LEDGER'))?.config.deny_delete).toBe(true);
  expect(isDamaged(await scrub(kept, 'LEDGER', options))).toBe(false);
});

test('keepArchive archives a stream again whose archive was made anew, though nothing new is written', async () => {
  const kept = await keptLog();
  kept.start();
  await appendFacts(kept.log, [actionOf('one')]);
  await untilArchived(kept, 'ACTIONS');
  await withClient(kept.store.pools.bulk, async (client) => {
    for (const table of ['archive', 'archive_heads'])
      await client.query(`delete from ${metaSchema(kept.network)}.${table}`);
  });
  await untilArchived(kept, 'ACTIONS');
  expect(await kept.store.count('ACTIONS')).toBe(1);
});

test('drainArchive waits until all is archived, and says so where nobody archives', async () => {
  const kept = await keptLog();
  await appendFacts(kept.log, randomHistory(7, { actions: 60 }));
  expect(await drainArchive(kept, 100)).toBe(false);
  kept.start();
  expect(await drainArchive(kept, 15_000)).toBe(true);
  expect((await kept.store.head('ACTIONS'))?.position).toBe((await kept.log.head('ACTIONS')).lastSequence);
});

test('repairStream of more streams at once than there are connections ends', async () => {
  const kept = await archived();
  const repairs = Array.from({ length: 9 }, () => repairStream(kept, 'ACTIONS', options));
  expect((await Promise.all(repairs)).map(({ done }) => done)).toEqual(repairs.map(() => []));
});
