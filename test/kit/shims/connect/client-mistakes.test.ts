import { Code, ConnectError, createMethodImplSpec } from '@connectrpc/connect';
import { validateUniversalHandlerOptions } from '@connectrpc/connect/protocol';
import { createHandlerFactory } from '@connectrpc/connect/protocol-grpc';
import { expect, test } from 'vitest';
import { Health } from '../../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { blameClient, correctBlame } from '../../../../src/kit/shims/connect/client-mistakes.ts';
import { grpcMessageOf } from '../../../../src/kit/shims/connect/grpc-message.ts';

/** What the library answers a call of bytes behind their prefix, with our gate or without it. */
async function answered(bytes: readonly number[], requestGate?: typeof blameClient): Promise<Headers> {
  const options = { acceptCompression: [], readMaxBytes: 1024, interceptors: [], ...(requestGate && { requestGate }) };
  const factory = createHandlerFactory(validateUniversalHandlerOptions(options));
  const fail = (): never => {
    throw new ConnectError('one, two: three', Code.NotFound);
  };
  const handler = factory(createMethodImplSpec(Health.method.check, fail));
  const { body, trailer } = await handler({
    httpVersion: '2.0',
    method: 'POST',
    url: `http://a${handler.requestPath}`,
    header: new Headers({ 'content-type': 'application/grpc' }),
    body: (async function* () {
      yield await Promise.resolve(Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]));
    })(),
    signal: new AbortController().signal,
  });
  for await (const chunk of body ?? []) expect(chunk).toHaveLength(0);
  return trailer ?? new Headers();
}

test('the library says INTERNAL of what is no protobuf, and our gate sets that right in time', async () => {
  const garbage = [0xff, 0xff, 0xff];
  expect((await answered(garbage)).get('grpc-status')).toBe(String(Code.Internal));
  expect((await answered(garbage, blameClient)).get('grpc-status')).toBe(String(Code.InvalidArgument));
  const other = new ConnectError('a fault of ours', Code.Internal);
  correctBlame(other);
  expect(other.code).toBe(Code.Internal);
});

test('the library encodes more of a message than gRPC asks for', async () => {
  const message = (await answered([])).get('grpc-message') ?? '';
  expect(message).toBe('one%2C%20two%3A%20three');
  expect(grpcMessageOf(decodeURIComponent(message))).toBe('one, two: three');
});
