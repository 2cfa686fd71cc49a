import { once } from 'node:events';
import { connect, createServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Health, HealthCheckRequestSchema } from '../../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { blameClient } from '../../../../src/kit/shims/connect/client-mistakes.ts';
import { createRouter } from '../../../../src/kit/shims/connect/router.ts';

const message = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: 'a.Service' }));
const asking = (service: string): Buffer =>
  enveloped(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })));

/** A message with its prefix, whose length may be said wrongly. */
function enveloped(data: Uint8Array, { flags = 0, length = data.length } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, data]);
}

const whole = enveloped(message);
const options = { acceptCompression: [], readMaxBytes: 1024, requestGate: blameClient };
const path = `/${Health.typeName}/Check`;

/** Answers by the service that it is asked for. */
function answerTo({ service }: { service: string }, context: HandlerContext) {
  if (service === 'gone') throw new ConnectError('No such service: 50 %', Code.NotFound, { 'x-why': 'gone' });
  if (service === 'broken') throw new TypeError('a detail of ours');
  if (service === 'headers') {
    context.responseHeader.set('x-asked', context.requestHeader.get('x-asks') ?? 'nothing');
    context.responseTrailer.set('x-ended', `${context.protocolName} ${context.url.replace(/\d+\//, '/')}`);
  }
  return { status: context.signal.aborted ? 2 : 1 };
}

type Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;
const routes = (router: ConnectRouter): ConnectRouter => router.service(Health, { check: answerTo as never });

const library: Listener = connectNodeAdapter({ ...options, routes: (router) => void routes(router) });

const translate = (caught: unknown): ConnectError =>
  caught instanceof ConnectError ? caught : new ConnectError('internal error', Code.Internal);

/** Takes the calls that are plain gRPC, and no others. */
function takingPlain(register: (router: ConnectRouter) => void): Listener {
  const { router, plainCall } = createRouter(options);
  register(router);
  return (request, response) => {
    const answer = plainCall(response, path);
    if (answer) void answer({ values: createContextValues, translate });
    else library(request, response);
  };
}

const ours = takingPlain(routes);

async function open(listener: Listener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

type Call = Readonly<{ body: readonly Uint8Array[]; headers?: Readonly<Record<string, string>>; leavesOpen?: true }>;

/** What a client receives; the words of an error are the library's or ours. */
async function received(listener: Listener, { body, headers, leavesOpen }: Call) {
  const session = connect(`http://127.0.0.1:${await open(listener)}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    ...headers,
  });
  const [head, trailers, bytes]: [Record<string, unknown>, Record<string, unknown>, Buffer[]] = [{}, {}, []];
  stream
    .on('response', (fields) => Object.assign(head, fields))
    .on('trailers', (some) => Object.assign(trailers, some));
  stream.on('data', (chunk: Buffer) => bytes.push(chunk));
  for (const chunk of body) stream.write(chunk);
  if (leavesOpen !== true) stream.end();
  await once(stream, 'end');
  const { 'grpc-message': told, ...fields } = { ...head, ...trailers };
  return {
    ...Object.fromEntries(Object.entries(fields)),
    date: '',
    isTold: told !== undefined,
    bytes: Buffer.concat(bytes).toString('hex'),
  };
}

const calls: Readonly<Record<string, Call>> = {
  'one message': { body: [whole] },
  'one message in bytes of one': { body: [...whole].map((byte) => Buffer.from([byte])) },
  'an empty message': { body: [enveloped(new Uint8Array())] },
  'protobuf by name': { body: [whole], headers: { 'content-type': 'application/grpc+proto' } },
  JSON: { body: [enveloped(Buffer.from('{}'))], headers: { 'content-type': 'application/grpc+json' } },
  'what is no gRPC': { body: [whole], headers: { 'content-type': 'application/grpcs' } },
  'headers that its method reads and sets': { body: [asking('headers')], headers: { 'x-asks': 'this' } },
  'a time limit': { body: [whole], headers: { 'grpc-timeout': '10S' } },
  'a time limit that is none': { body: [whole], headers: { 'grpc-timeout': 'soon' } },
  'a compression that is not known': { body: [whole], headers: { 'grpc-encoding': 'zip' } },
  'a compression that may be answered': { body: [whole], headers: { 'grpc-accept-encoding': 'gzip,identity' } },
  'a compressed message': { body: [enveloped(message, { flags: 1 })] },
  'no message': { body: [] },
  'half a prefix': { body: [whole.subarray(0, 3)] },
  'half a message': { body: [whole.subarray(0, 9)] },
  'two messages': { body: [whole, whole] },
  'a message too large': { body: [enveloped(Buffer.alloc(2000))] },
  'a message said to be too large': { body: [enveloped(message, { length: 2 ** 31 })] },
  'a message of just the most': {
    body: [enveloped(Buffer.concat([Buffer.from([0x12, 0xfd, 7]), Buffer.alloc(1021)]))],
  },
  'no protobuf': { body: [enveloped(Buffer.from([0xff, 0xff, 0xff]))] },
  'a service that is refused': { body: [asking('gone')] },
  'a fault of ours': { body: [asking('broken')] },
};

describe('a gRPC call of one message', () => {
  it.each(Object.entries(calls))('is answered as the library answers it: %s', async (_, call) => {
    expect(await received(ours, call)).toEqual(await received(library, call));
  });

  it('is answered', async () => {
    expect(await received(ours, { body: [whole] })).toEqual({
      ':status': 200,
      date: '',
      'content-type': 'application/grpc+proto',
      'grpc-status': '0',
      isTold: false,
      bytes: '00000000020801',
    });
  });

  it.each([
    ['a message too large', enveloped(Buffer.alloc(0), { length: 2000 })],
    ['a second message', Buffer.concat([whole, whole])],
  ])('is not read to its end to refuse %s', async (_, first) => {
    const { 'grpc-status': status } = (await received(ours, { body: [first], leavesOpen: true })) as Record<
      string,
      unknown
    >;
    expect([Code.ResourceExhausted, Code.Unimplemented].map(String)).toContain(status);
  });

  it('that takes longer than its client waits ends with its time, and its signal with it', async () => {
    const { promise: isAborted, resolve } = Promise.withResolvers<boolean>();
    const check: ServiceImpl<typeof Health>['check'] = async (_, { signal }) => {
      await once(signal, 'abort');
      resolve(signal.aborted);
      return await new Promise<never>(() => undefined);
    };
    const listener = takingPlain((router) => router.service(Health, { check }));
    const call = { body: [whole], headers: { 'grpc-timeout': '50m' } };
    expect(await received(listener, call)).toMatchObject({ 'grpc-status': String(Code.DeadlineExceeded) });
    expect(await isAborted).toBe(true);
  });

  it('has a signal that ends with it, for a reason that all calls share', async () => {
    const reasons: unknown[] = [];
    const check: ServiceImpl<typeof Health>['check'] = (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return {};
    };
    const listener = takingPlain((router) => router.service(Health, { check }));
    for (const _ of [1, 2]) await received(listener, { body: [whole] });
    const [first, second] = reasons;
    expect(first).toMatchObject({ name: 'AbortError' });
    // A new one for each call records its stack: a tenth of what a small call costs.
    expect(second).toBe(first);
  });
});
