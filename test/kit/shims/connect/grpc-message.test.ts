import { once } from 'node:events';
import { connect } from 'node:http2';
import { Code } from '@connectrpc/connect';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { AppError } from '../../../../src/kit/errors.ts';
import { Health, HealthCheckResponseSchema } from '../../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { createRpcHandler } from '../../../../src/edges/rpc/handler.ts';
import { openRpcPort, type RpcServer } from '../../../../src/edges/rpc/server.ts';
import { callGrpc } from '../../../support/callers/grpc-client.ts';

const logger = pino({ level: 'silent' });
const open: RpcServer[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

/** The port of a service whose every call fails with the message. */
async function failing(message: string): Promise<number> {
  const check = (): never => {
    throw new AppError('CONFLICT', message);
  };
  const handler = createRpcHandler((router) => router.service(Health, { check }), logger);
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const server = await openRpcPort({ place, handler, logger });
  open.push(server);
  return server.port;
}

const message = 'Action 7 is done, not "pending": 50 % of ä+b=c & d/e? #1 😀;';
const question = { request: new Uint8Array(), output: HealthCheckResponseSchema };

it('reads as it was written in a client that decodes no more than gRPC encodes', async () => {
  const call = callGrpc(`127.0.0.1:${await failing(message)}`, '/grpc.health.v1.Health/Check', question);
  await expect(call).rejects.toMatchObject({ code: Code.Aborted, details: message });
  const unknown = callGrpc(`127.0.0.1:${await failing(message)}`, '/no.Service/Method', question);
  await expect(unknown).rejects.toMatchObject({
    details: 'Nothing is served at this path; reflection and /api/v1/services list what is.',
  });
});

it('is ASCII on the wire, with nothing encoded but what has to be', async () => {
  const session = connect(`http://127.0.0.1:${await failing(message)}`);
  const headers = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc' };
  const stream = session.request(headers);
  stream.end(Buffer.alloc(5));
  stream.resume();
  const [trailers] = (await once(stream, 'trailers')) as [Record<string, string>];
  session.destroy();
  expect(trailers['grpc-message']).toBe(
    'Action 7 is done, not "pending": 50 %25 of %C3%A4+b=c & d/e? #1 %F0%9F%98%80;',
  );
});
