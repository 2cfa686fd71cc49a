import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { AppError, errorCodes } from '../../../src/kit/errors.ts';
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
} from '../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../../../src/edges/gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflectionAlpha } from '../../../src/edges/rpc/reflection.ts';
import { codeOf } from '../../../src/edges/rpc/codes.ts';
import { createRpcHandler } from '../../../src/edges/rpc/handler.ts';
import { registerHealth } from '../../../src/edges/rpc/health.ts';
import { registerReflection } from '../../../src/edges/rpc/reflection.ts';
import { openRpcPort, type RpcServer } from '../../../src/edges/rpc/server.ts';
import { callGrpc } from '../../support/callers/grpc-client.ts';

const logger = pino({ level: 'silent' });
const open: RpcServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** A port that serves health and reflection; or a Check that fails with `failure`. */
async function port({ failure, silenceMs }: { failure?: unknown; silenceMs?: number } = {}): Promise<number> {
  const handler = createRpcHandler((router) => {
    if (failure === undefined) registerHealth(router, ['a.Service']);
    else
      router.service(Health, {
        check: () => {
          throw failure;
        },
      });
    registerReflection(router, [Health]);
  }, logger);
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const server = await openRpcPort({ place, handler, logger, ...(silenceMs === undefined ? {} : { silenceMs }) });
  open.push(server);
  return server.port;
}

const grpc = (at: number) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${at}` });
const check = '/grpc.health.v1.Health/Check';

/** Sends bytes and resolves with what came back by the time the server closed. */
async function raw(at: number, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = connect(at, '127.0.0.1');
  sockets.push(socket);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  await once(socket, 'connect');
  for (const part of parts) {
    socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

describe('an RPC port', () => {
  it('tells its clients apart by their first bytes, one by one too', { tags: ['S1.port.recognised'] }, async () => {
    const at = await port();
    const request = `GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`;
    expect(await raw(at, ...request.split(''))).toMatch(/^HTTP\/1\.1 404 /);
    expect(await raw(at, ...request.replace('GET', 'PROPFIND').split(''))).toMatch(/^HTTP\/1\.1 404 /);
    expect(await raw(at, Buffer.from([0, 0, 0, 5]))).toBe('');
    expect(await raw(at, Buffer.from([0x16, 3, 1]))).toBe('');
    const session = connectHttp2(`http://127.0.0.1:${at}`);
    await once(session, 'remoteSettings');
    expect(session.remoteSettings).toMatchObject({ maxConcurrentStreams: 100, initialWindowSize: 8 * 2 ** 20 });
    session.destroy();
  });

  it('ends what begins and goes on with nothing, and serves others meanwhile', { tags: ['S1.port.slow'] }, async () => {
    const at = await port({ silenceMs: 150 });
    const halves = [
      '',
      'PRI * HT',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nhost',
    ];
    const ended = Promise.all(
      Array.from({ length: 15 }, () => halves)
        .flat()
        .map((half) => raw(at, half)),
    );
    expect(await createClient(Health, grpc(at)).check({})).toMatchObject({ status: Status.SERVING });
    await ended;
  });

  it('ends a request of HTTP/1.1 that drips, and a connection that is idle after its answer', async () => {
    const at = await port({ silenceMs: 300 });
    const whole = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
    const begun = [
      'POST /a HTTP/1.1\r\nx: ',
      'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n',
      `${whole}POST /a HTTP/1.1\r\nx: `,
    ];
    const ended = begun.map(async (first) => {
      const socket = connect(at, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
      socket.write(first);
      const drip = setInterval(() => socket.write('y'), 20);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(drip);
    });
    await Promise.all(ended);
    expect(await raw(at, whole)).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('ends a call that brings no message, and the connection goes on', { tags: ['S1.port.slow'] }, async () => {
    const at = await port({ silenceMs: 150 });
    const session = connectHttp2(`http://127.0.0.1:${at}`);
    const stream = session.request({ ':method': 'POST', ':path': check, 'content-type': 'application/grpc' });
    stream.on('error', () => undefined);
    await once(stream, 'close');
    expect(stream.rstCode).not.toBe(0);
    expect(session.destroyed).toBe(false);
    session.destroy();
  });
});

describe('a message that cannot be read', () => {
  const broken = Buffer.from([0x0a, 0x05, 0x61]);
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, broken.length]), broken]);

  it('is INVALID_ARGUMENT to a gRPC client', async () => {
    const at = await port();
    const call = callGrpc(`127.0.0.1:${at}`, check, { request: broken, output: HealthCheckResponseSchema });
    await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it.each([
    ['application/grpc-web+proto', envelope, /grpc-status: 3\r\n/],
    ['application/proto', broken, /"code":"invalid_argument"/],
    ['application/json', Buffer.from('{"service":'), /"code":"invalid_argument"/],
    ['application/json', Buffer.from('{"service":7}'), /"code":"invalid_argument"/],
  ])('is INVALID_ARGUMENT as %s', async (type, body, expected) => {
    const response = await fetch(`http://127.0.0.1:${await port()}${check}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: new Uint8Array(body),
    });
    expect(await response.text()).toMatch(expected);
  });

  it(
    'is INVALID_ARGUMENT, RESOURCE_EXHAUSTED or UNIMPLEMENTED, never INTERNAL, when flags or lengths lie',
    { tags: ['S1.port.codes'] },
    async () => {
      const at = await port();
      const lies = [
        [1, 0, 0, 0, 1, 0],
        [0, 0xff, 0xff, 0xff, 0xff],
        [0, 0, 0, 0, 9, 1],
        [0x80, 0, 0, 0, 0],
        [2, 0, 0, 0, 0],
        [0, 0, 0],
        [],
      ];
      for (const type of ['application/grpc', 'application/grpc-web'])
        for (const lie of lies) {
          const session = connectHttp2(`http://127.0.0.1:${at}`);
          const stream = session.request({ ':method': 'POST', ':path': check, 'content-type': type });
          const trailers: Record<string, unknown> = {};
          stream.on('response', (headers) => Object.assign(trailers, headers));
          stream.on('trailers', (headers) => Object.assign(trailers, headers));
          let text = '';
          stream.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
          stream.end(Buffer.from(lie));
          await once(stream, 'close');
          session.destroy();
          const status = trailers['grpc-status'] ?? /grpc-status: (\d+)/.exec(text)?.[1];
          expect([0, 3, 8, 12], `${type} ${lie.join(' ')}`).toContain(Number(status));
        }
    },
  );

  it(
    'is RESOURCE_EXHAUSTED when it is too large, and UNIMPLEMENTED when it is compressed',
    { tags: ['S1.port.compression'] },
    async () => {
      const at = await port();
      const service = 'x'.repeat(70_000);
      const request = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }));
      const call = callGrpc(`127.0.0.1:${at}`, check, { request, output: HealthCheckResponseSchema });
      await expect(call).rejects.toMatchObject({ code: Code.ResourceExhausted });
      const compressed = await fetch(`http://127.0.0.1:${at}${check}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: '{}',
      });
      expect(await compressed.json()).toMatchObject({ code: 'unimplemented' });
    },
  );
});

describe('errors', () => {
  it.each(errorCodes)('%s has its code of RPC', async (code) => {
    const at = await port({ failure: new AppError(code, 'why it failed') });
    const call = createClient(Health, grpc(at)).check({});
    await expect(call).rejects.toMatchObject({
      code: codeOf[code],
      rawMessage: code === 'INTERNAL' ? expect.not.stringContaining('why it failed') : 'why it failed',
    });
  });

  it('whatever else is thrown is INTERNAL, and its detail stays here', async () => {
    const at = await port({ failure: new TypeError('secret detail') });
    await expect(createClient(Health, grpc(at)).check({})).rejects.toMatchObject({
      code: Code.Internal,
      rawMessage: expect.not.stringContaining('secret'),
    });
  });

  it('a path without a method is UNIMPLEMENTED to a gRPC client', async () => {
    const at = await port();
    const call = callGrpc(`127.0.0.1:${at}`, '/no.Service/Method', {
      request: new Uint8Array(),
      output: HealthCheckResponseSchema,
    });
    await expect(call).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});

describe('health', { tags: ['S1.port.health'] }, () => {
  it('Check knows the empty name and what is served', async () => {
    const client = createClient(Health, grpc(await port()));
    for (const service of ['', 'a.Service'])
      expect(await client.check({ service })).toMatchObject({ status: Status.SERVING });
    await expect(client.check({ service: 'b.Service' })).rejects.toMatchObject({ code: Code.NotFound });
  });

  it('Watch tells the state at once and stays open, of an unknown service too', async () => {
    const at = await port();
    for (const [service, status] of [
      ['a.Service', Status.SERVING],
      ['b.Service', Status.SERVICE_UNKNOWN],
    ] as const) {
      const calledOff = new AbortController();
      const watched = createClient(Health, grpc(at)).watch({ service }, { signal: calledOff.signal });
      const states = watched[Symbol.asyncIterator]();
      expect((await states.next()).value).toMatchObject({ status });
      const next = states.next();
      calledOff.abort();
      await expect(next).rejects.toMatchObject({ code: Code.Canceled });
    }
  });
});

describe('reflection', () => {
  async function* asked<T>(...requests: T[]): AsyncGenerator<T> {
    yield* requests;
  }

  it.each([
    ['v1', ServerReflection],
    ['v1alpha', ServerReflectionAlpha],
  ] as const)('%s lists services, finds files and says what it does not know', async (version, service) => {
    const client = createClient(service, grpc(await port()));
    const requests = asked(
      { messageRequest: { case: 'listServices' as const, value: '' } },
      { messageRequest: { case: 'fileContainingSymbol' as const, value: 'grpc.health.v1.Health.Check' } },
      { messageRequest: { case: 'fileByFilename' as const, value: 'grpc/health/v1/health.proto' } },
      { messageRequest: { case: 'fileContainingSymbol' as const, value: 'no.Such' } },
      {},
    );
    const answers = await Array.fromAsync(
      client.serverReflectionInfo(requests),
      ({ messageResponse }) => messageResponse,
    );
    expect(answers.map((answer) => answer.case)).toEqual([
      'listServicesResponse',
      'fileDescriptorResponse',
      'fileDescriptorResponse',
      'errorResponse',
      'errorResponse',
    ]);
    const listed = answers[0]?.case === 'listServicesResponse' ? answers[0].value.service.map(({ name }) => name) : [];
    expect(listed).toContain('grpc.health.v1.Health');
    expect(listed).toContain(`grpc.reflection.${version}.ServerReflection`);
    expect(answers[1]).toEqual(answers[2]);
  });

  it('is there over HTTP/1.1 no less, where streams go one way', async () => {
    const at = await port();
    const transport = createConnectTransport({ baseUrl: `http://127.0.0.1:${at}`, httpVersion: '1.1' });
    expect(await createClient(Health, transport).check({})).toMatchObject({ status: Status.SERVING });
  });
});
