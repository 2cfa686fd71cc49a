import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:http2';
import path from 'node:path';
import { Code } from '@connectrpc/connect';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signerAt } from '../../../support/callers/signer-at.ts';
import { castOf, type RealNode } from '../../../../src/edges/local-network/cast.ts';
import { registerNodes } from '../../../../src/edges/local-network/local-network.ts';
import { freshFolder } from '../../../support/programs/fresh-folder.ts';
import { chunkMessage, downloadByGrpc, uploadByGrpc } from '../../../support/callers/grpc-files.ts';
import { until } from '../../../support/polling.ts';
import { ask, freshLog, seed, startLedger } from '../../ledger/ledger-under-test.ts';
import {
  bytesOf,
  creator,
  downloaded,
  fileBounds,
  pendingAction,
  registering,
  signatureOf,
  stranger,
  upload,
} from '../files-under-test.ts';
import { type NodeUnderTest, nodeUnderTest } from '../node-under-test.ts';

const [first, second] = castOf(seed).realNodes as unknown as readonly [RealNode, RealNode];
const undo = new AsyncDisposableStack();
const storage = freshFolder();
let ledger: Awaited<ReturnType<typeof startLedger>>;
let node: NodeUnderTest;

beforeAll(async () => {
  undo.defer(storage.remove);
  const fresh = undo.use(await freshLog());
  ledger = undo.use(await startLedger(fresh.log));
  await registerNodes(ledger, [first]);
  node = undo.use(
    await nodeUnderTest({
      chainUrl: ledger.url,
      key: first.account.key,
      snapshotMs: 20,
      cascade: { ...fileBounds, storageFolder: storage.folder, maxFileBytes: 3_000_000 },
    }),
  );
});
afterAll(() => undo.disposeAsync());

const incoming = () => readdirSync(path.join(storage.folder, 'incoming'));

type Shown = {
  database: { p2p_db_size_mb: number; p2p_db_records_count: string };
  dht_metrics: { batch_retrieve_recent: unknown[] };
};

describe('Register and Download', () => {
  it.each([
    ['an empty file', 0, []],
    ['one of a single byte', 1, [1]],
    ['one larger than a piece', 2_500_000, [...Array.from({ length: 9 }, () => 262_144), 140_704]],
  ])('store %s and give it back', { tags: ['S1.register.order'] }, async (_name, size, chunks) => {
    const file = bytesOf('a', size);
    const actionId = await pendingAction(ledger, file);
    const events = await upload(node.grpc, actionId, file);
    expect(events.map(({ eventType }) => eventType)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for (const { message } of events) expect(message).not.toBe('');
    const hash = events.at(-1)?.txHash ?? '';
    expect((await ask(ledger, `/cosmos/tx/v1beta1/txs/${hash}`)).body).toMatchObject({ tx_response: { code: 0 } });
    expect((await ask(ledger, `/LumeraProtocol/lumera/action/v1/get_action/${actionId}`)).body).toMatchObject({
      action: { state: 'ACTION_STATE_DONE', superNodes: [first.account.account] },
    });
    const got = await downloaded(node.grpc, actionId);
    expect(got.bytes.equals(file)).toBe(true);
    expect(got).toMatchObject({ events: [1, 4, 15, 13, 16, 17], chunks });
    expect(incoming()).toEqual([]);
  });

  it('serve grpc-js as well', { tags: ['S1.register.order'] }, async () => {
    const file = bytesOf('j', 1_500_000);
    const actionId = await pendingAction(ledger, file);
    const chunks = [file.subarray(0, 1_000_000), file.subarray(1_000_000)].map(chunkMessage);
    const answers = await uploadByGrpc(node.grpc, actionId, chunks);
    expect(answers.map(({ eventType }) => eventType)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    const got: Uint8Array[] = [];
    expect(await downloadByGrpc(node.grpc, actionId, (bytes) => got.push(bytes))).toEqual([1, 4, 15, 13, 16, 17]);
    expect(Buffer.concat(got).equals(file)).toBe(true);
    const again = uploadByGrpc(node.grpc, actionId, chunks);
    await expect(again).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });

  it(
    'keep private files for whoever shows the creator’s signature, and go on once the action is approved',
    { tags: ['S1.download.private'] },
    async () => {
      const file = bytesOf('p', 1000);
      const actionId = await pendingAction(ledger, file, { isPublic: false });
      await upload(node.grpc, actionId, file);
      await expect(downloaded(node.grpc, actionId)).rejects.toMatchObject({ code: Code.Unauthenticated });
      await expect(downloaded(node.grpc, actionId, signatureOf(stranger, actionId))).rejects.toMatchObject({
        code: Code.PermissionDenied,
      });
      await expect(downloaded(node.grpc, actionId, signatureOf(creator, `${actionId}0`))).rejects.toMatchObject({
        code: Code.PermissionDenied,
      });
      await signerAt(ledger.url).send(creator.key, [
        { '@type': '/lumera.action.v1.MsgApproveAction', creator: creator.account, actionId },
      ]);
      expect((await downloaded(node.grpc, actionId, signatureOf(creator, actionId))).bytes.equals(file)).toBe(true);
    },
  );

  it('refuse what is out of order with its code, and keep nothing of it', { tags: ['S1.register.codes'] }, async () => {
    const file = bytesOf('r', 100);
    const actionId = await pendingAction(ledger, file);
    const metadata = { metadata: { actionId } };
    const refused = async (messages: Parameters<typeof registering>[1]): Promise<unknown> =>
      await registering(node.grpc, messages).catch((caught: unknown) => (caught as { code: Code }).code);
    const wrong = Buffer.from('other bytes');
    expect(await refused([{ chunk: file }])).toBe(Code.InvalidArgument);
    expect(await refused([{ chunk: file }, metadata, metadata])).toBe(Code.InvalidArgument);
    expect(await refused([metadata, { chunk: file }])).toBe(Code.InvalidArgument);
    expect(await refused([{ metadata: { actionId: '' } }])).toBe(Code.InvalidArgument);
    expect(await refused([{ metadata: { actionId, taskId: 'é'.repeat(129) } }])).toBe(Code.InvalidArgument);
    expect(await refused([{ chunk: wrong }, metadata])).toBe(Code.InvalidArgument);
    expect(await refused([{ metadata: { actionId: '999999' } }])).toBe(Code.NotFound);
    expect(await refused([{ metadata: { actionId: '../../etc/passwd' } }])).toBe(Code.NotFound);
    expect(await refused([{ chunk: bytesOf('x', 3_000_001) }, metadata])).toBe(Code.ResourceExhausted);
    expect(await refused([{ chunk: Buffer.alloc(17 * 2 ** 20) }])).toBe(Code.ResourceExhausted);
    await expect(downloaded(node.grpc, actionId)).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await expect(downloaded(node.grpc, '')).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(downloaded(node.grpc, '00')).rejects.toMatchObject({ code: Code.NotFound });
    await upload(node.grpc, actionId, file);
    expect(await refused([{ chunk: file }, metadata])).toBe(Code.FailedPrecondition);
    const unsigned = await pendingAction(ledger, file, { signatures: 'e30=.AAAA' });
    expect(await refused([{ chunk: file }, { metadata: { actionId: unsigned } }])).toBe(Code.FailedPrecondition);
    expect(incoming()).toEqual([]);
  });

  it(
    'refuse an action whose top list the node is not in, and what its bound has no room for',
    { tags: ['S1.register.codes'] },
    async () => {
      const file = bytesOf('n', 2_000_000);
      const actionId = await pendingAction(ledger, file);
      const other = { chainUrl: ledger.url, key: second.account.key };
      await using unlisted = await nodeUnderTest({ ...other, cascade: fileBounds });
      await expect(upload(unlisted.grpc, actionId, file)).rejects.toMatchObject({ code: Code.FailedPrecondition });
      await using small = await nodeUnderTest({
        ...other,
        cascade: { ...fileBounds, storageBytes: 1_500_000 },
      });
      await expect(upload(small.grpc, actionId, file)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    },
  );

  it('are shown in the status: the service, and none under way', { tags: ['S1.status.services'] }, async () => {
    const status = (await (await fetch(`${node.http}/api/v1/status`)).json()) as object;
    expect(status).toMatchObject({ registered_services: ['cascade'], running_tasks: [] });
    const services = (await (await fetch(`${node.http}/api/v1/services`)).json()) as { services: { name: string }[] };
    expect(services.services.map(({ name }) => name)).toContain('cascade.CascadeService');
  });

  it(
    'are counted in the P2P metrics: pieces as they lie on the disk, and each retrieval, newest first',
    { tags: ['S1.p2p.retrieve', 'S1.p2p.disk'] },
    async () => {
      const file = bytesOf('m', 700_000);
      const actionId = await pendingAction(ledger, file);
      await upload(node.grpc, actionId, file);
      await downloaded(node.grpc, actionId);
      const pieces = readdirSync(path.join(storage.folder, 'pieces'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => statSync(path.join(entry.parentPath, entry.name)).size);
      const bytes = pieces.reduce((sum, size) => sum + size, 0);
      const shown = await until('the snapshot holds the retrieval', async () => {
        const answer = await fetch(`${node.http}/api/v1/status?include_p2p_metrics=true`);
        const { p2p_metrics } = (await answer.json()) as { p2p_metrics: Shown };
        return p2p_metrics.database.p2p_db_records_count === String(pieces.length) && p2p_metrics;
      });
      expect(shown.database.p2p_db_size_mb).toBeCloseTo(bytes / 2 ** 20, 6);
      expect(shown.dht_metrics.batch_retrieve_recent[0]).toMatchObject({
        time_unix: expect.stringMatching(/^\d{10}$/),
        keys: 1,
        required: 1,
        found_local: 1,
        found_network: 0,
      });
    },
  );

  it('keep nothing of a client that goes away while it sends, and blame themselves for nothing', async () => {
    const logged: string[] = [];
    await using folders = new AsyncDisposableStack();
    const own = freshFolder();
    folders.defer(own.remove);
    const logger = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });
    await using alone = await nodeUnderTest({ cascade: { ...fileBounds, storageFolder: own.folder }, logger });
    const drafts = () => readdirSync(path.join(own.folder, 'incoming')).length;
    const session = connect(`http://${alone.grpc}`).on('error', () => undefined);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/cascade.CascadeService/Register',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined);
    const chunk = chunkMessage(bytesOf('g', 100_000));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(chunk.length, 1);
    stream.write(Buffer.concat([prefix, chunk]));
    await until('the upload has begun', () => drafts() === 1);
    session.destroy();
    await until('nothing is left of it', () => drafts() === 0);
    await alone.stop();
    expect(logged.filter((line) => line.includes('call failed'))).toEqual([]);
  });

  it('are UNAVAILABLE while the chain is out of reach', { tags: ['S1.register.codes'] }, async () => {
    await using alone = await nodeUnderTest({ cascade: fileBounds });
    await expect(downloaded(alone.grpc, '1')).rejects.toMatchObject({ code: Code.Unavailable });
  });
});
