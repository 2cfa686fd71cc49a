import { createHash } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { describe, expect, it, onTestFinished } from 'vitest';
import { metaSchema } from '../../../../src/engine/models/engine/generations.ts';
import { withClient } from '../../../../src/engine/models/pool.ts';
import { openCheckpoint, checkProof } from '../../../../src/edges/http/pages/public/verify.js';
import { createProvenLogs, type ProvenLogs } from '../../../../src/engine/archive/proof/serving.ts';
import { rekey } from '../../../../src/engine/archive/proof/rekey.ts';
import { signAll } from '../../../../src/engine/archive/proof/signing.ts';
import { streamInfo } from '../../../../src/engine/archive/chain.ts';
import { rawBetween, repairStream } from '../../../../src/engine/archive/repair.ts';
import { scrub } from '../../../../src/engine/archive/scrub.ts';
import { isDamaged } from '../../../../src/engine/archive/states.ts';
import { streamName } from '../../../../src/engine/log/streams.ts';
import { startRest } from '../../../edges/indexer/rest/rest-server.ts';
import { eventually, until } from '../../../support/polling.ts';
import { randomHistory } from '../../../support/histories/random-history.ts';
import { actionOf, appendFacts } from '../../log/fresh-log.ts';
import { type Kept, keptLog, untilArchived } from '../kept.ts';
import { naiveRoot } from './naive-tree.ts';

/** What the log itself holds, as hashes of its events. */
async function entriesIn(kept: Kept): Promise<Buffer[]> {
  const { lastSequence } = await kept.log.head('ACTIONS');
  const events = await rawBetween(kept, 'ACTIONS', 0, lastSequence);
  return events.map(({ body }) => createHash('sha256').update(body).digest());
}

const logsOf = (kept: Kept): ProvenLogs => createProvenLogs({ pools: kept.store.pools, network: kept.network });

async function untilSigned(kept: Kept): Promise<void> {
  await untilArchived(kept, 'ACTIONS');
  const { lastSequence } = await kept.log.head('ACTIONS');
  const logs = logsOf(kept);
  await until('a checkpoint is signed', async () => (await logs.checkpoint('ACTIONS'))?.size === lastSequence);
}

/** A log of actions whose last checkpoint is of all of it, with nobody keeping the archive any more. */
async function signed(actions = 200): Promise<Kept> {
  const kept = await keptLog();
  const { stop } = kept.start();
  for (let at = 0; at < 3; at += 1) await appendFacts(kept.log, randomHistory(11 + at, { actions: actions / 4 }));
  await appendFacts(kept.log, [actionOf('the last')]);
  await untilSigned(kept);
  await stop();
  return kept;
}

async function damage(kept: Kept, ...statements: readonly string[]): Promise<void> {
  await withClient(kept.store.pools.bulk, async (client) => {
    await client.query(`set search_path = ${metaSchema(kept.network)}`);
    for (const statement of statements) await client.query(statement);
    await client.query('reset search_path');
  });
}

/** The hashes of the tree of actions, level by level. */
async function tilesOf({ store }: Kept): Promise<Uint8Array[]> {
  const all = { from: 0, until: 9 };
  return await Promise.all([0, 1].map((level) => store.trees.tiles('ACTIONS', { ...all, level })));
}

const forget = [
  'delete from log_tiles',
  'delete from log_checkpoints',
  'delete from archive',
  'delete from archive_heads',
];

describe('a proven log', () => {
  it('has the tree of its events, and proves each of them to a verifier that knows the key alone', async () => {
    const kept = await signed(400);
    const [logs, entries] = [logsOf(kept), await entriesIn(kept)];
    const checkpoint = await logs.checkpoint('ACTIONS');
    if (!checkpoint) throw new Error('nothing is signed');
    const opened = await openCheckpoint(checkpoint.note, checkpoint.vkey);
    expect(opened.size).toBe(entries.length);
    expect(entries.length).toBeGreaterThan(512);
    expect(Buffer.from(opened.root)).toEqual(naiveRoot(entries));
    expect(opened.origin).toMatch(/^annals-[\da-f]{16}\/.+\/ACTIONS\/\d{4}-/);
    for (const sequence of [1, 2, 256, 257, 512, entries.length]) {
      const [event, proof] = await Promise.all([logs.event('ACTIONS', sequence), logs.proof('ACTIONS', sequence)]);
      const at = await checkProof(proof ?? '', event?.bytes ?? new Uint8Array(), checkpoint.vkey);
      expect(at).toMatchObject({ index: sequence - 1, size: entries.length });
    }
    expect(await logs.proof('ACTIONS', entries.length + 1)).toBeUndefined();
  });

  it('is served as C2SP tlog-tiles, bytes that are gone by their hash alone, and private ones not at all', async () => {
    const kept = await signed();
    await damage(kept, 'delete from archive where sequence = 3');
    const rest = await startRest([], { logs: logsOf(kept) });
    onTestFinished(rest.close);
    const entries = await entriesIn(kept);
    const bundle = `/log/ACTIONS/tile/entries/000.p/${entries.length % 256}`;
    const [event, gone, proof, tile] = await Promise.all(
      ['/log/ACTIONS/events/2', '/log/ACTIONS/events/3', '/log/ACTIONS/proofs/3', bundle].map((path) => rest.get(path)),
    );
    expect(
      createHash('sha256')
        .update(event?.text ?? '')
        .digest(),
    ).toEqual(entries[1]);
    expect(event?.headers.get('repr-digest')).toBe(`sha-256=:${entries[1]?.toString('base64')}:`);
    expect(event?.headers.get('cache-control')).toContain('immutable');
    expect(gone).toMatchObject({ status: 410, body: { code: 'GONE' } });
    expect(proof?.text).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex 2\n/);
    expect([tile?.status, tile?.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
    const unknown = [
      'TRANSFERS/checkpoint',
      'TRANSFERS/events/1',
      'POOL/vkey',
      'ACTIONS/events/0',
      'ACTIONS/tile/0/000.p/256',
    ];
    for (const path of unknown) expect([path, (await rest.get(`/log/${path}`)).status]).toEqual([path, 404]);
    const { logs } = (await rest.get('/v1/logs')).body;
    expect(logs).toContainEqual(expect.objectContaining({ stream: 'ACTIONS', size: entries.length }));
    expect(JSON.stringify(logs)).not.toContain('TRANSFERS');
  });

  it('is filled from an archive that was there before it', async () => {
    const kept = await signed();
    const before = await logsOf(kept).checkpoint('ACTIONS');
    await damage(kept, 'delete from log_tiles', 'update archive_heads set leaves = 0');
    await appendFacts(kept.log, [actionOf('another one')]);
    kept.start();
    await untilSigned(kept);
    const after = await logsOf(kept).checkpoint('ACTIONS');
    expect(after).toMatchObject({ origin: before?.origin, vkey: before?.vkey, size: (before?.size ?? 0) + 1 });
    expect(after?.root).toEqual(naiveRoot(await entriesIn(kept)));
  });

  it('goes on under its name and key when the database is lost, and signs nothing smaller meanwhile', async () => {
    const kept = await signed();
    const before = await logsOf(kept).checkpoint('ACTIONS');
    await damage(kept, ...forget, 'delete from log_keys');
    await damage(
      kept,
      `insert into archive_heads (stream, incarnation, hash) values ('ACTIONS', '${before?.incarnation}', '')`,
    );
    await signAll(kept.signing);
    expect(await logsOf(kept).checkpoint('ACTIONS')).toBeUndefined();
    expect(await kept.signing.checkpoints.refusals()).toMatchObject([
      { stream: 'ACTIONS', reason: expect.stringContaining('nothing smaller is signed') },
    ]);
    await damage(kept, 'delete from archive_heads');
    kept.start();
    await untilSigned(kept);
    const { signedAt: _, ...same } = { ...before, signedAt: '' };
    expect(await logsOf(kept).checkpoint('ACTIONS')).toMatchObject(same);
    await until('nothing is refused', async () => (await kept.signing.checkpoints.refusals()).length === 0);
  });

  it('goes on under its name when the broker loses a stream that is still empty, and has the tree of what follows', async () => {
    const kept = await keptLog();
    kept.start();
    kept.audit();
    const checkpoint = () => logsOf(kept).checkpoint('ACTIONS');
    const before = await until('an empty tree is signed', checkpoint);
    expect(before.size).toBe(0);
    await (await jetstreamManager(kept.nc)).streams.delete(streamName('ACTIONS', kept.network));
    await until('the stream is there again', () => streamInfo(kept, 'ACTIONS'));
    await eventually(() => appendFacts(kept.log, [actionOf('the first')]));
    await untilSigned(kept);
    expect(await checkpoint()).toMatchObject({ origin: before.origin, vkey: before.vkey, size: 1 });
  });

  it('signs no other tree than the one that it signed before, and no tree with another key', async () => {
    const kept = await signed();
    const before = await logsOf(kept).checkpoint('ACTIONS');
    await damage(
      kept,
      "update log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1) where level = 0 and stream = 'ACTIONS'",
    );
    await signAll(kept.signing);
    expect(await kept.signing.checkpoints.refusals()).toMatchObject([
      { stream: 'ACTIONS', reason: expect.stringContaining('another one') },
    ]);
    await damage(
      kept,
      "update log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1) where level = 0 and stream = 'ACTIONS'",
    );
    const seed = createHash('sha256').update('another key').digest();
    await signAll({ ...kept.signing, key: async () => ({ seed, origin: 'another' }) });
    expect(await kept.signing.checkpoints.refusals()).toContainEqual({
      stream: 'ACTIONS',
      reason: expect.stringContaining('what signed before'),
    });
    expect(await logsOf(kept).checkpoint('ACTIONS')).toEqual(before);
    await signAll(kept.signing);
    expect(await kept.signing.checkpoints.refusals()).toEqual([]);
  });

  it('begins anew under another key where an operator says so, and what was signed stays', async () => {
    const kept = await signed();
    const before = await logsOf(kept).checkpoint('ACTIONS');
    if (!before) throw new Error('nothing is signed');
    // The key is gone from both stores: nothing is signed from here on.
    await damage(kept, 'delete from log_keys');
    await (await new Kvm(kept.nc).open(`annals-secrets_${kept.network}`)).delete('log');
    await signAll(kept.signing);
    const [refused] = await kept.signing.checkpoints.refusals();
    expect(refused?.reason).toContain('is gone');
    await rekey({ ...kept, ...kept.signing, isKeySet: false });
    await signAll(kept.signing);
    expect(await kept.signing.checkpoints.refusals()).toEqual([]);
    const after = await logsOf(kept).checkpoint('ACTIONS');
    expect(after).toMatchObject({ size: before.size, root: before.root, epoch: before.epoch + 1 });
    expect(after?.vkey.split('+')[2]).not.toBe(before.vkey.split('+')[2]);
    await openCheckpoint(after?.note ?? '', after?.vkey ?? '');
    await signAll(kept.signing);
    expect(await logsOf(kept).checkpoint('ACTIONS')).toEqual(after);
  });

  it('is compared by scrub and written anew by repair, whatever byte of it is damaged', async () => {
    const kept = await signed(360);
    const { lastSequence } = await kept.log.head('ACTIONS');
    expect(lastSequence).toBeGreaterThan(512);
    const options = { signal: new AbortController().signal };
    const damages = {
      'tile/0/001': 'set hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1) where level = 0 and first = 256',
      'tile/1/000': 'set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1) where level = 1 and first = 0',
      'tile/0/002': 'set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1) where level = 0 and first = 512',
    };
    const before = await tilesOf(kept);
    for (const [tile, change] of Object.entries(damages)) {
      await damage(kept, `update log_tiles ${change} and stream = 'ACTIONS'`);
      const report = await scrub(kept, 'ACTIONS', options);
      expect(report).toMatchObject({ tiles: [tile], inStream: [], inArchive: [] });
      expect(isDamaged(report)).toBe(true);
      expect((await repairStream(kept, 'ACTIONS', options)).done).toHaveLength(1);
      expect(isDamaged(await scrub(kept, 'ACTIONS', options))).toBe(false);
      expect(await tilesOf(kept)).toEqual(before);
    }
  });

  it('begins a new epoch where events that were signed are in neither store any more', async () => {
    const kept = await signed();
    const before = await logsOf(kept).checkpoint('ACTIONS');
    await damage(
      kept,
      'delete from log_tiles',
      'update archive_heads set leaves = 0',
      'delete from archive where sequence = 5',
    );
    await damage(
      kept,
      `insert into archive_losses (stream, first, last, reason, ids) values ('ACTIONS', 5, 5, 'test', '[]')`,
    );
    kept.start();
    await until(
      'a new epoch',
      async () => (await logsOf(kept).checkpoint('ACTIONS'))?.origin === `${before?.origin}/2`,
    );
    const entries = await entriesIn(kept);
    entries[4] = Buffer.alloc(0);
    await until('it is of all', async () => (await logsOf(kept).checkpoint('ACTIONS'))?.size === entries.length);
    expect((await logsOf(kept).checkpoint('ACTIONS'))?.root).toEqual(naiveRoot(entries));
  });
});
