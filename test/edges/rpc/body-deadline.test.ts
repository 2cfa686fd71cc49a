import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Code } from '@connectrpc/connect';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ServerReflection } from '../../../src/edges/gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { createRpcHandler } from '../../../src/edges/rpc/handler.ts';
import { registerHealth } from '../../../src/edges/rpc/health.ts';
import { registerReflection } from '../../../src/edges/rpc/reflection.ts';
import { openRpcPort } from '../../../src/edges/rpc/server.ts';

const logger = pino({ level: 'silent' });
const check = `/${Health.typeName}/Check`;
const reflect = `/${ServerReflection.typeName}/ServerReflectionInfo`;

/** A port that serves health and reflection, and has patience with calls that bring nothing. */
async function port(): Promise<number> {
  const handler = createRpcHandler((router) => {
    registerHealth(router, []);
    registerReflection(router, [Health]);
  }, logger);
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const server = await openRpcPort({ place, handler, logger, silenceMs: 60_000 });
  onTestFinished(server.close);
  return server.port;
}

/** Begins a call and sends parts of a body that the client never ends; gives the code that it is answered. */
async function answeredWithoutEnd(
  at: number,
  { path, type, body = [] }: { path: string; type: string; body?: readonly number[] },
): Promise<number> {
  const session = connectHttp2(`http://127.0.0.1:${at}`);
  const timeout = { 'grpc-timeout': '50m', 'connect-timeout-ms': '50' };
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': type, ...timeout });
  const seen: Record<string, unknown> = {};
  stream.on('response', (headers) => Object.assign(seen, headers)).on('trailers', (last) => Object.assign(seen, last));
  let text = '';
  stream.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  stream.write(Buffer.from(body));
  await once(stream, 'end');
  session.destroy();
  if (text.includes('"code":"deadline_exceeded"')) return Code.DeadlineExceeded;
  return Number(seen['grpc-status'] ?? /grpc-status: ?(\d+)/.exec(text)?.[1]);
}

it.each([
  ['a gRPC call', { path: check, type: 'application/grpc' }],
  ['a gRPC call in half a message', { path: check, type: 'application/grpc', body: [0, 0, 0, 0, 9, 10] }],
  ['a gRPC stream', { path: reflect, type: 'application/grpc' }],
  ['a gRPC-Web call', { path: check, type: 'application/grpc-web+proto' }],
  ['a Connect call', { path: check, type: 'application/json', body: [0x7b] }],
])('a deadline that has passed ends %s whose body never comes', { tags: ['S1.port.codes'] }, async (_, call) => {
  expect(await answeredWithoutEnd(await port(), call)).toBe(Code.DeadlineExceeded);
});

it('a truncated message is INVALID_ARGUMENT in every form, within a deadline too', async () => {
  const at = await port();
  const message = [0x0a, 5, 0x61];
  for (const timeout of [undefined, '30S'])
    for (const length of [3, 4]) {
      const session = connectHttp2(`http://127.0.0.1:${at}`);
      const headers = { ':method': 'POST', ':path': check, 'content-type': 'application/grpc' };
      const stream = session.request({ ...headers, ...(timeout && { 'grpc-timeout': timeout }) });
      const seen: Record<string, unknown> = {};
      stream.on('response', (some) => Object.assign(seen, some)).on('trailers', (last) => Object.assign(seen, last));
      stream.resume().end(Buffer.from([0, 0, 0, 0, length, ...message]));
      await once(stream, 'close');
      session.destroy();
      expect(Number(seen['grpc-status'])).toBe(Code.InvalidArgument);
    }
});
