import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import pLimit from 'p-limit';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshLog, playHistory, startLedger } from '../../ledger/ledger-under-test.ts';
import { multiaddr } from '@multiformats/multiaddr';
import { accountOf, publicKeyOf } from '../../../../src/edges/chain/sign/keys.ts';
import { openPeerHost } from '../../../../src/edges/node/peers/host.ts';
import { createNode } from '../../../../src/edges/node/peers/libp2p-node.ts';
import { createDiagnostics } from '../../../../src/edges/node/status/diagnostics.ts';
import { creator, fileBounds } from '../files-under-test.ts';
import { nodeKey, type NodeUnderTest, nodeUnderTest } from '../node-under-test.ts';
import { askBoth, besiege } from './besiege.ts';

const undo = new AsyncDisposableStack();
const complaints: string[] = [];
let node: NodeUnderTest;
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

async function opened(name: keyof typeof beginnings): Promise<Socket[]> {
  const sockets = Array.from({ length: 100 }, () => connect({ host: node.host, port: node.ports[name] }));
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
      index % 2 === 0 ? { port: node.ports.http, bytes: request } : { port: node.ports.grpc, bytes: preface },
    );
    const sockets = idle.map(({ port, bytes }) => {
      const socket = connect({ host: node.host, port }).on('error', () => undefined);
      socket.write(Buffer.from(bytes, 'latin1'));
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (let time = 0; time < 20; time += 1) await askBoth(node);
    expect(sockets.filter((socket) => socket.readyState === 'open').length).toBe(100);
    for (const socket of sockets) socket.destroy();
  });

  it('of peers stop nobody on port p2p either', { tags: ['S1.port.idle'] }, async () => {
    const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
    const idle = await createNode(place, { handshakeMs: 60_000, connections: 200 });
    await idle.start();
    undo.defer(async () => await idle.stop());
    const to = multiaddr(`/ip4/${node.host}/tcp/${node.ports.p2p}`);
    // Handshakes have a time limit at the node as well: few at once, so that each is quick on a busy machine.
    const held = await pLimit(4).map(Array.from({ length: 100 }), async () => await idle.dial(to, { force: true }));
    const asking = { key: creator.key, answering: async () => ({ done: true }), diagnostics: createDiagnostics() };
    const host = await openPeerHost({ place, logger: pino({ level: 'silent' }), ...asking });
    undo.defer(host.close);
    const peer = { account: accountOf(publicKeyOf(nodeKey)), ip: node.host, port: node.ports.p2p, isActive: true };
    for (let time = 0; time < 20; time += 1) {
      await askBoth(node);
      expect((await host.ask(peer, { case: 'getManifest', value: '1' })).done).toBe(false);
    }
    expect(new Set(held.map(({ id }) => id)).size).toBe(100);
    expect(held.filter(({ status }) => status === 'open').length).toBe(100);
    await idle.stop();
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
