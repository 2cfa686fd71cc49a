import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { CascadeService } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { chunksOf } from '../../../../src/edges/node/cascade/chunks-of.ts';
import { isPieceHash, pieceBytes, type PieceHash } from '../../../../src/edges/node/storage/piece-hash.ts';
import { AppError } from '../../../../src/kit/errors.ts';
import { createRpcHandler } from '../../../../src/edges/rpc/handler.ts';
import { openRpcPort } from '../../../../src/edges/rpc/server.ts';
import { until } from '../../../support/polling.ts';
import { strangersSession, unreadDownload } from '../hostile/strangers.ts';

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

const host = '127.0.0.1';
const pieceAt = (index: number): Buffer => Buffer.alloc(pieceBytes, index + 1);

/** A port whose Download sends a file from its pieces, and how many of them it has read. */
async function sending(size: number, readable = Infinity) {
  const count = { reads: 0 };
  const names = Array.from({ length: Math.ceil(size / pieceBytes) }, (_, index) =>
    index.toString(16).padStart(64, '0'),
  );
  const pieces = names.filter(isPieceHash);
  const pieceOf = async (hash: PieceHash): Promise<Buffer> => {
    count.reads += 1;
    const index = Number.parseInt(hash, 16);
    if (index >= readable) throw new AppError('UNAVAILABLE', 'The piece is nowhere');
    return pieceAt(index).subarray(0, size - index * pieceBytes);
  };
  const handler = createRpcHandler(
    (router) =>
      router.service(CascadeService, { download: (_, context) => chunksOf({ size, pieces }, pieceOf, context) }),
    pino({ level: 'silent' }),
  );
  const place = { host, port: 0, what: 'a test', remedy: '' };
  const { port, close } = await openRpcPort({ place, handler, logger: pino({ level: 'silent' }) });
  undo.push(close);
  return { port, count, baseUrl: `http://${host}:${port}` };
}

type Transport = Parameters<typeof createClient>[1];

async function received(transport: Transport, onChunk: (data: Uint8Array) => void): Promise<void> {
  for await (const { responseType } of createClient(CascadeService, transport).download({ actionId: '1' }))
    if (responseType.case === 'chunk') onChunk(responseType.value.data);
}

const largeBytes = 501 * 2 ** 20;

it('32 unread downloads of a file of 501 MiB hold a piece each', { tags: ['S1.hostile.calls'] }, async () => {
  const { port, count } = await sending(largeBytes);
  const session = await strangersSession({ host, port }, host, 0);
  undo.push(() => session.destroy());
  for (let calls = 0; calls < 32; calls += 1) unreadDownload(session, '1');
  await until('each has read its first piece', () => count.reads >= 32);
  const after = unreadDownload(session, '1');
  await until('one more has read its first piece, too', () => count.reads >= 33);
  expect([count.reads, after.isOpen()]).toEqual([33, true]);
});

it('a file whose pieces end early ends with the code of what failed', { tags: ['S1.register.codes'] }, async () => {
  const { port, count } = await sending(largeBytes, 6);
  const session = await strangersSession({ host, port }, host);
  undo.push(() => session.destroy());
  const call = unreadDownload(session, '1');
  await call.ended;
  expect([call.grpcStatus(), count.reads]).toEqual([Code.Unavailable, 7]);
});

const binary = { httpVersion: '2' } as const;
it.each([
  ['gRPC', (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ['gRPC-Web', (baseUrl: string) => createGrpcWebTransport({ baseUrl, ...binary })],
  ['Connect', (baseUrl: string) => createConnectTransport({ baseUrl, ...binary, useBinaryFormat: true })],
  ['Connect in JSON', (baseUrl: string) => createConnectTransport({ baseUrl, ...binary })],
])('over %s a file has its bytes in its chunks', { tags: ['S1.register.order'] }, async (_name, transportTo) => {
  const size = 2 * pieceBytes + 5;
  const { baseUrl } = await sending(size);
  const chunks: Uint8Array[] = [];
  await received(transportTo(baseUrl), (data) => chunks.push(data));
  expect(chunks.map(({ length }) => length)).toEqual([...Array.from({ length: 8 }, () => 262_144), 5]);
  expect(Buffer.concat(chunks).equals(Buffer.concat([0, 1, 2].map(pieceAt)).subarray(0, size))).toBe(true);
});
