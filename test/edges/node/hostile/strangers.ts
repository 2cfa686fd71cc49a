import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { DownloadRequestSchema } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { ServerReflectionRequestSchema } from '../../../../src/edges/gen/grpc/reflection/v1/reflection_pb.ts';
import { chunkMessage } from '../../../support/callers/grpc-files.ts';
import type { Target } from './attack.ts';

/** A call of a stranger: whether it is still open, and what it was answered with. */
export type StrangersCall = Readonly<{
  isOpen: () => boolean;
  ended: Promise<void>;
  grpcStatus: () => number | undefined;
}>;

/** A session of a stranger at an address; `window` bytes of an answer are taken of each call, and no more. */
export async function strangersSession(
  { host, port }: Target,
  localAddress: string,
  window = 65_535,
): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://${host}:${port}`, {
    createConnection: () => connect({ host, port, localAddress }),
    settings: { initialWindowSize: window },
  });
  session.on('error', () => undefined);
  await Promise.race([once(session, 'remoteSettings'), new Promise((resolve) => session.once('close', resolve))]);
  return session;
}

/** Uploads a chunk, and then a byte now and then, without an end. */
export function drippingUpload(session: ClientHttp2Session, chunk: Uint8Array, everyMs: number): StrangersCall {
  const stream = callOf(session, 'Register');
  stream.write(enveloped(chunkMessage(chunk)));
  const drip = setInterval(() => {
    if (stream.writable) stream.write(Buffer.from([0]));
  }, everyMs);
  stream.once('close', () => clearInterval(drip));
  return watched(stream);
}

/** Requests a file and reads nothing of it. */
export function unreadDownload(session: ClientHttp2Session, actionId: string): StrangersCall {
  const stream = callOf(session, 'Download');
  stream.end(enveloped(toBinary(DownloadRequestSchema, create(DownloadRequestSchema, { actionId }))));
  return watched(stream);
}

/** Watches the health of a node, as long as it may. */
export function healthWatch(session: ClientHttp2Session): StrangersCall {
  const stream = callOf(session, 'Watch', 'grpc.health.v1.Health');
  stream.end(enveloped(new Uint8Array()));
  return watched(stream);
}

/** Asks by reflection which services there are, and leaves the stream open. */
export function openReflection(session: ClientHttp2Session): StrangersCall {
  const stream = callOf(session, 'ServerReflectionInfo', 'grpc.reflection.v1.ServerReflection');
  const messageRequest = { case: 'listServices' as const, value: '' };
  const asked = create(ServerReflectionRequestSchema, { messageRequest });
  stream.write(enveloped(toBinary(ServerReflectionRequestSchema, asked)));
  return watched(stream);
}

function callOf(session: ClientHttp2Session, method: string, service = 'cascade.CascadeService'): ClientHttp2Stream {
  return session.request({
    ':method': 'POST',
    ':path': `/${service}/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
}

function enveloped(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

function watched(stream: ClientHttp2Stream): StrangersCall {
  let status: number | undefined;
  const note = (headers: Readonly<Record<string, unknown>>): void => {
    if (headers['grpc-status'] !== undefined) status = Number(headers['grpc-status']);
  };
  stream
    .on('error', () => undefined)
    .on('response', note)
    .on('trailers', note);
  stream.resume();
  const ended = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  return { isOpen: () => !stream.closed, ended, grpcStatus: () => status };
}
