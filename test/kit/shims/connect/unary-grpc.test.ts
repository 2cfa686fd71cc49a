import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createMethodImplSpec, type Interceptor } from '@connectrpc/connect';
import { type ProtocolHandlerFactory, validateUniversalHandlerOptions } from '@connectrpc/connect/protocol';
import { createHandlerFactory } from '@connectrpc/connect/protocol-grpc';
import { describe, expect, it } from 'vitest';
import { Health, HealthCheckRequestSchema } from '../../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { blameClient } from '../../../../src/kit/shims/connect/client-mistakes.ts';
import { createGrpcFactory } from '../../../../src/kit/shims/connect/unary-grpc.ts';

const message = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: 'a.Service' }));
const json = Buffer.from('{"service":"a.Service"}');

/** A message with its prefix, whose length may be said wrongly. */
function enveloped(data: Uint8Array, { flags = 0, length = data.length } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, data]);
}

const whole = enveloped(message);
const asked: Interceptor = (next) => async (request) => {
  const response = await next(request);
  response.header.set('x-asked', request.header.get('x-asks') ?? 'nothing');
  response.trailer.set('x-ended', 'yes');
  return response;
};
const options = validateUniversalHandlerOptions({
  acceptCompression: [],
  readMaxBytes: 1024,
  requestGate: blameClient,
  interceptors: [asked],
});

type Call = Readonly<{ body: readonly Uint8Array[]; headers?: Readonly<Record<string, string>>; breaks?: Error }>;

/** What a client is answered by a handler, and whether the call's signal was left alone until the end. */
async function answered(factory: ProtocolHandlerFactory, { body, headers, breaks }: Call) {
  let seen: AbortSignal | undefined;
  const check = ({ service }: { service: string }, context: { signal: AbortSignal; timeoutMs: () => unknown }) => {
    seen = context.signal;
    if (service === 'gone') throw new ConnectError('No such service: 50 %', Code.NotFound, { 'x-why': 'gone' });
    if (service === 'broken') throw new TypeError('a detail of ours');
    return { status: seen.aborted ? 2 : 1 };
  };
  const handler = factory(createMethodImplSpec(Health.method.check, check as never));
  const response = await handler({
    httpVersion: '2.0',
    method: 'POST',
    url: `http://a${handler.requestPath}`,
    header: new Headers({ 'content-type': 'application/grpc', ...headers }),
    body: (async function* () {
      yield* body;
      await Promise.resolve();
      if (breaks) throw breaks;
    })(),
    signal: new AbortController().signal,
  });
  const bytes: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) bytes.push(chunk);
  const { 'grpc-message': told, ...trailers } = Object.fromEntries(response.trailer ?? []);
  return {
    status: response.status,
    headers: Object.fromEntries(response.header ?? []),
    trailers,
    isTold: told !== undefined,
    bytes: Buffer.concat(bytes).toString('hex'),
    wasEnded: seen?.aborted,
  };
}

const calls: Readonly<Record<string, Call>> = {
  'one message': { body: [whole] },
  'one message in bytes of one': { body: [...whole].map((byte) => Buffer.from([byte])) },
  'one message after an empty chunk': { body: [new Uint8Array(), whole] },
  'an empty message': { body: [enveloped(new Uint8Array())] },
  JSON: { body: [enveloped(json)], headers: { 'content-type': 'application/grpc+json' } },
  'a header, and one of its own': { body: [whole], headers: { 'x-asks': 'this' } },
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
  'no JSON': { body: [enveloped(Buffer.from('{'))], headers: { 'content-type': 'application/grpc+json' } },
  'a service that is refused': { body: [enveloped(Buffer.concat([Buffer.from([0x0a, 4]), Buffer.from('gone')]))] },
  'a fault of ours': { body: [enveloped(Buffer.concat([Buffer.from([0x0a, 6]), Buffer.from('broken')]))] },
  'a body that breaks off': { body: [whole.subarray(0, 7)], breaks: new Error('gone') },
};

describe('a gRPC call of one message', () => {
  const [ours, library] = [createGrpcFactory(options), createHandlerFactory(options)];

  it.each(Object.entries(calls))('is answered as the library answers it: %s', async (_, call) => {
    expect(await answered(ours, call)).toEqual(await answered(library, call));
  });

  it('is answered, and its signal is ended then', async () => {
    expect(await answered(ours, { body: [whole] })).toEqual({
      status: 200,
      headers: { 'content-type': 'application/grpc+proto', 'x-asked': 'nothing' },
      trailers: { 'grpc-status': '0', 'x-ended': 'yes' },
      isTold: false,
      bytes: '00000000020801',
      wasEnded: true,
    });
  });

  it('ends its signal with a reason that all calls share', async () => {
    const reasons: unknown[] = [];
    const handler = ours(
      createMethodImplSpec(Health.method.check, (_, { signal }) => {
        signal.addEventListener('abort', () => reasons.push(signal.reason));
        return {};
      }),
    );
    for (const _ of [1, 2]) {
      const header = new Headers({ 'content-type': 'application/grpc' });
      const body = (async function* () {
        yield await Promise.resolve(whole);
      })();
      const { signal } = new AbortController();
      await handler({ httpVersion: '2.0', method: 'POST', url: 'http://a/', header, body, signal });
    }
    const [first, second] = reasons;
    expect(first).toMatchObject({ name: 'AbortError' });
    // A new one for each call records its stack: a tenth of what a small call costs.
    expect(second).toBe(first);
  });

  it('is not read further than shows that its message is too large', async () => {
    let read = 0;
    const body = (async function* () {
      for (; read < 1000; read++)
        yield await Promise.resolve(read === 0 ? enveloped(Buffer.alloc(0), { length: 2000 }) : whole);
    })();
    const handler = ours(createMethodImplSpec(Health.method.check, () => ({})));
    const header = new Headers({ 'content-type': 'application/grpc' });
    const { signal } = new AbortController();
    const { trailer } = await handler({ httpVersion: '2.0', method: 'POST', url: 'http://a/', header, body, signal });
    expect(trailer?.get('grpc-status')).toBe(String(Code.ResourceExhausted));
    expect(read).toBe(0);
  });
});
