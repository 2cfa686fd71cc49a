import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { isReleased, releaseStreams, startStream } from '../../../../src/kit/shims/http/released-connection.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server whose connections are released; gives its port. */
async function listening(answer: Answer): Promise<Readonly<{ server: Server; port: number }>> {
  const server = createServer(answer);
  releaseStreams(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  onTestFinished(() => void server.close());
  return { server, port: address !== null && typeof address === 'object' ? address.port : 0 };
}

/** A client that writes bytes as they are; `until` resolves with all it has read once that matches. */
async function client(port: number, options: Readonly<{ allowHalfOpen?: boolean }> = {}) {
  const socket = connect({ port, host: '127.0.0.1', ...options });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  let read = '';
  socket.setEncoding('utf8').on('data', (text: string) => (read += text));
  return {
    socket,
    send: (path: string, ...headers: readonly string[]) =>
      socket.write([`GET ${path} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n')),
    until: async (pattern: RegExp): Promise<string> => {
      await expect.poll(() => read).toMatch(pattern);
      return read;
    },
  };
}

const stream = 'Accept: text/event-stream';
const headers = { 'content-type': 'text/event-stream' };

/** Starts a stream after a pause, as a handler does that reads first; keeps what it is written to. */
function streaming(outlets: (ServerResponse | Socket)[], over: ServerResponse[] = []): Answer {
  return (_request, response) => {
    response.once('close', () => over.push(response));
    setImmediate(() => {
      const outlet = startStream(response, 200, headers);
      outlets.push(outlet);
      outlet.write('data: first\n\n');
    });
  };
}

it('a stream is written to the bare connection, and its response is over', async () => {
  const [outlets, over]: [(ServerResponse | Socket)[], ServerResponse[]] = [[], []];
  const { port } = await listening(streaming(outlets, over));
  const { send, socket, until } = await client(port);
  send('/', stream);
  const head = await until(/data: first\n\n$/);
  expect(head).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-type: text\/event-stream\r\n[^]*connection: close\r\n\r\ndata/i);
  expect(head).not.toMatch(/transfer-encoding|content-length/i);
  expect([outlets.length, over.length]).toEqual([1, 1]);
  // Nobody parses what its reader sends: a parser would cut it off for this.
  socket.write('no request\r\n\r\n');
  outlets[0]?.write('data: second\n\n');
  await until(/data: second\n\n$/);
  const closed = once(socket, 'close');
  outlets[0]?.end('data: last\n\n');
  await closed;
  await until(/data: last\n\n$/);
});

it('a stream may follow on other requests of its connection', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { port } = await listening((request, response) => {
    if (request.url === '/page') response.end('a page');
    else streaming(outlets)(request, response);
  });
  const { send, until } = await client(port);
  send('/page');
  await until(/a page$/);
  send('/', stream);
  await until(/data: first\n\n$/);
  expect(outlets[0]).not.toHaveProperty('statusCode');
});

it('whoever accepts other forms too has a response as always', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { port } = await listening(streaming(outlets));
  for (const accept of ['Accept: */*', 'Accept: application/json, text/event-stream', 'X-Other: 1']) {
    const { send, until } = await client(port);
    send('/', accept);
    expect(await until(/data: first\n\n/)).toMatch(/transfer-encoding: chunked/i);
  }
  for (const outlet of outlets) {
    expect(outlet).toHaveProperty('statusCode', 200);
    outlet.end();
  }
});

it('what is no stream after all is answered whole and closes its connection', async () => {
  const { port } = await listening((_request, response) => setImmediate(() => response.writeHead(404).end('nothing')));
  const { send, socket, until } = await client(port);
  const closed = once(socket, 'close');
  send('/', stream);
  expect(await until(/nothing/)).toMatch(/^HTTP\/1.1 404 [^]*connection: close/i);
  await closed;
});

it('a reader that leaves closes what is written to, before its stream starts and after', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { port } = await listening(streaming(outlets));
  const { send, socket, until } = await client(port);
  send('/', stream);
  await until(/data: first/);
  const [outlet] = outlets;
  const closed = outlet && once(outlet, 'close');
  socket.end();
  await closed;
  const early = await listening((request, response) => {
    response.once('close', () => early.server.emit('gone', isReleased(request.socket)));
  });
  const gone = once(early.server, 'gone');
  const { send: sendEarly, socket: leaving } = await client(early.port);
  sendEarly('/', stream);
  await once(early.server, 'request');
  leaving.destroy();
  expect(await gone).toEqual([true]);
});

it('a stream that ends closes its connection, whether or not its reader does', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { server, port } = await listening(streaming(outlets));
  const { send, socket, until } = await client(port, { allowHalfOpen: true });
  send('/', stream);
  await until(/data: first/);
  outlets[0]?.end('data: last\n\n');
  await until(/data: last/);
  await expect.poll(async () => await promisify(server.getConnections.bind(server))()).toBe(0);
  expect(socket.destroyed).toBe(false);
});

it('a reader that goes on sending is cut off', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { port } = await listening(streaming(outlets));
  const { send, socket, until } = await client(port);
  send('/', stream);
  await until(/data: first/);
  for (let n = 0; n < 64 && !socket.destroyed; n += 1) socket.write('x'.repeat(64 * 1024));
  await expect.poll(() => socket.closed).toBe(true);
});

it('a connection of a stream that is idle for too long is reported by the server', async () => {
  const outlets: (ServerResponse | Socket)[] = [];
  const { server, port } = await listening((request, response) => {
    request.socket.setTimeout(1);
    streaming(outlets)(request, response);
  });
  const idle = once(server, 'timeout');
  const { send, until } = await client(port);
  send('/', stream);
  await until(/data: first/);
  expect(await idle).toEqual([outlets[0]]);
});

it('no upgrade is taken', async () => {
  const { port } = await listening((_request, response) => response.end('a page'));
  const { send, until } = await client(port);
  send('/', 'Connection: Upgrade', 'Upgrade: websocket');
  await until(/^HTTP\/1.1 200 OK[^]*a page$/);
});
