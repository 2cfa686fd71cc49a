import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Health } from '../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { accountOf, type PrivateKey, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { dialChannel } from '../../../src/edges/rpc/channel/dial-channel.ts';
import { channelOpener } from '../../../src/edges/rpc/channel/open-channel.ts';
import { createRpcHandler } from '../../../src/edges/rpc/handler.ts';
import { registerHealth } from '../../../src/edges/rpc/health.ts';
import { openRpcPort } from '../../../src/edges/rpc/server.ts';

const logger = pino({ level: 'silent' });
const key: PrivateKey = { type: 'secp256k1', bytes: new Uint8Array(32).fill(9) };
const call = { ':method': 'POST', ':path': `/${Health.typeName}/Check`, 'content-type': 'application/grpc' };

async function port(): Promise<number> {
  const handler = createRpcHandler((router) => registerHealth(router, []), logger);
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const openChannel = channelOpener({ key, isWelcome: async () => await Promise.resolve(true) });
  const server = await openRpcPort({ place, handler, logger, openChannel, silenceMs: 600_000, idleMs: 600_000 });
  onTestFinished(server.close);
  return server.port;
}

async function plain(at: number): Promise<Duplex> {
  const socket = connect(at, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

const secured = async (at: number): Promise<Duplex> =>
  await dialChannel(
    { host: '127.0.0.1', port: at, account: accountOf(publicKeyOf(key)) },
    key,
    AbortSignal.timeout(20_000),
  );

type Frame = Readonly<{ type: number; flags?: number; stream?: number; body?: Buffer }>;

function bytesOf({ type, flags = 0, stream = 0, body = Buffer.alloc(0) }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** Names and values as they are, outside every table. */
const fieldsOf = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries({ ':scheme': 'http', ':authority': 'a', ...fields }).map(([name, value]) =>
      Buffer.from(`\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`),
    ),
  );

const start = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), bytesOf({ type: 4 })]);
const opened = bytesOf({ type: 1, flags: 4, stream: 1, body: fieldsOf(call) });
const more = Buffer.from([0, 0, 0, 1]);
const padding = Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]);

/** Repeats a frame until the other end closes the connection. */
async function flood(socket: Duplex, frame: Frame): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<undefined>();
  socket
    .on('error', () => undefined)
    .on('close', () => resolve(undefined))
    .resume();
  socket.write(Buffer.concat([start, opened]));
  const many = Buffer.concat(Array<Buffer>(2_000).fill(bytesOf(frame)));
  const send = (): void => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on('drain', send);
  send();
  await closed;
}

const kinds: [string, Frame][] = [
  ['window updates of the connection', { type: 8, body: more }],
  ['window updates of a call', { type: 8, stream: 1, body: more }],
  ['padding', { type: 0, flags: 8, stream: 1, body: padding }],
];

it.each(kinds)(
  '%s without an end end the connection, and others are served',
  { tags: ['S1.hostile.connections'] },
  async (_, frame) => {
    const at = await port();
    const other = connectHttp2(`http://127.0.0.1:${at}`);
    onTestFinished(() => other.destroy());
    const flooding = flood(await plain(at), frame);
    const stream = other.request(call).end(Buffer.alloc(5)).resume();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(200);
    await flooding;
  },
);

it(
  'floods of frames end a connection within the secure channel too',
  { tags: ['S1.hostile.connections'] },
  async () => {
    const [[, frame]] = kinds as [[string, Frame]];
    await flood(await secured(await port()), frame);
  },
);
