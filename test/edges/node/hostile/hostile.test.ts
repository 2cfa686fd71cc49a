import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshLog, playHistory, startLedger } from '../../ledger/ledger-under-test.ts';
import { fileBounds } from '../files-under-test.ts';
import { type NodeUnderTest, nodeUnderTest } from '../node-under-test.ts';
import { askBoth, besiege } from './besiege.ts';

const undo = new AsyncDisposableStack();
const complaints: string[] = [];
/** Half-open connections end soon at the first, idle ones stay for long at the second. */
let node: NodeUnderTest;
let patient: NodeUnderTest;
beforeAll(async () => {
  const fresh = undo.use(await freshLog());
  const ledger = undo.use(await startLedger(fresh.log));
  await playHistory(ledger);
  const stream = new Writable({
    write: (line: Buffer, _encoding, done) => {
      complaints.push(line.toString());
      done();
    },
  });
  const logger = pino({ level: 'warn' }, stream);
  node = undo.use(await nodeUnderTest({ chainUrl: ledger.url, cascade: fileBounds, logger, silenceMs: 1_000 }));
  patient = undo.use(await nodeUnderTest({ chainUrl: ledger.url, silenceMs: 120_000 }));
});
afterAll(() => undo.disposeAsync());

const portNames = ['grpc', 'http', 'p2p'] as const;

describe('malformed bytes', () => {
  it.each(portNames)(
    'are the client’s mistake on port %s, and cost nobody else anything',
    { tags: ['S1.port.codes'] },
    async (name) => {
      expect(await besiege(node, name, { count: 300, seed: 'a' })).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );
});

/** How connections begin that never go on. */
const beginnings = {
  grpc: [
    '',
    'PRI * HT',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\0\0\0\xc8\x01',
    '\x16\x03\x01',
    'POST /a HTTP/1.1\r\nx: ',
  ],
  http: [
    '',
    'GE',
    'GET /api/v1/status HTTP/1.1\r\nx: ',
    'POST /api/v1/status HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n',
  ],
  p2p: ['', '\x13/multistream/1.0.0\n', '\x13/multistream/1.0.0\n\x07/noise\n\0\x20'],
} as const;

/** One address has a part of a hundred connections. */
const callerAt = (index: number): string => `127.0.0.${2 + (index % 20)}`;

async function opened(name: keyof typeof beginnings): Promise<Socket[]> {
  const sockets = Array.from({ length: 100 }, (_, index) =>
    connect({ host: node.host, port: node.ports[name], localAddress: callerAt(index) }),
  );
  for (const [index, socket] of sockets.entries()) {
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    socket.write(Buffer.from(beginnings[name][index % beginnings[name].length] ?? '', 'latin1'));
  }
  return sockets;
}

describe('a hundred idle connections', () => {
  it('that were served before stop nobody', { tags: ['S1.port.idle'] }, async () => {
    const request = 'GET /api/v1/services HTTP/1.1\r\nhost: a\r\n\r\n';
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';
    const idle = Array.from({ length: 100 }, (_, index) =>
      index % 2 === 0 ? { port: patient.ports.http, bytes: request } : { port: patient.ports.grpc, bytes: preface },
    );
    const sockets = idle.map(({ port, bytes }, index) => {
      const socket = connect({ host: patient.host, port, localAddress: callerAt(index) }).on('error', () => undefined);
      socket.write(Buffer.from(bytes, 'latin1'));
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (let time = 0; time < 5; time += 1) await askBoth(patient);
    expect(sockets.filter((socket) => socket.readyState === 'open').length).toBe(100);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a hundred half-open connections', () => {
  it.each(portNames)('stop nobody on port %s, and are closed', { tags: ['S1.port.slow'] }, async (name) => {
    const sockets = await opened(name);
    const closed = sockets.map(async (socket) => {
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    });
    const drip = setInterval(() => {
      for (const socket of sockets.filter((_, index) => index % 2 === 0)) if (socket.writable) socket.write('x');
    }, 50);
    await askBoth(node);
    await Promise.all(closed);
    clearInterval(drip);
    await askBoth(node);
    expect(complaints).toEqual([]);
  });
});
