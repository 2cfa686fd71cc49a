import { connect } from 'node:http2';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { CascadeService } from '../../../src/edges/gen/cascade/service_pb.ts';
import { createRpcHandler } from '../../../src/edges/rpc/handler.ts';
import { openRpcPort } from '../../../src/edges/rpc/server.ts';

it('a client that hangs up while it is answered is no fault of ours, and ends the answer', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  let ended = Promise.withResolvers<undefined>();
  const chunk = { case: 'chunk', value: { data: new Uint8Array(2 ** 20) } } as const;
  const endless = async function* () {
    try {
      for (;;) yield { responseType: chunk };
    } finally {
      ended.resolve(undefined);
    }
  };
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const handler = createRpcHandler((router) => router.service(CascadeService, { download: endless }), logger);
  const server = await openRpcPort({ place, handler, logger });
  for (let again = 0; again < 5; again++) {
    ended = Promise.withResolvers();
    const session = connect(`http://127.0.0.1:${server.port}`);
    const headers = {
      ':method': 'POST',
      ':path': '/cascade.CascadeService/Download',
      'content-type': 'application/grpc',
    };
    const stream = session.on('error', () => undefined).request(headers);
    stream.on('error', () => undefined).once('data', () => session.destroy());
    stream.end(Buffer.alloc(5));
    await ended.promise;
  }
  await server.close();
  expect(lines).toEqual([]);
});

it('a client that is cut off because it says nothing more is no fault of ours', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const ended = Promise.withResolvers<undefined>();
  const echo = async function* (requests: AsyncIterable<unknown>) {
    try {
      for await (const _ of requests) yield { message: 'received' };
    } finally {
      ended.resolve(undefined);
    }
  };
  const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
  const handler = createRpcHandler((router) => router.service(CascadeService, { register: echo }), logger);
  const server = await openRpcPort({ place, handler, logger, silenceMs: 300 });
  const session = connect(`http://127.0.0.1:${server.port}`, { settings: { initialWindowSize: 0 } });
  const headers = {
    ':method': 'POST',
    ':path': '/cascade.CascadeService/Register',
    'content-type': 'application/grpc',
  };
  const stream = session.on('error', () => undefined).request(headers);
  const closed = new Promise((resolve) => stream.on('error', () => undefined).once('close', resolve));
  stream.write(Buffer.alloc(5));
  await Promise.all([closed, ended.promise]);
  session.destroy();
  await server.close();
  expect(lines).toEqual([]);
});
