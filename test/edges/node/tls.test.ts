import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import {
  StatusRequestSchema,
  StatusResponseSchema,
  SupernodeService,
} from '../../../src/edges/gen/supernode/supernode_pb.ts';
import { openRpcPort, type RpcServer } from '../../../src/edges/rpc/server.ts';
import { callGrpc } from '../../support/callers/grpc-client.ts';
import { until } from '../../support/polling.ts';
import { silent } from '../ledger/ledger-under-test.ts';
import { type NodeUnderTest, nodeUnderTest } from './node-under-test.ts';

const fixtures = path.join(import.meta.dirname, '../../fixtures/tls');
const pem = (name: string): Buffer => readFileSync(path.join(fixtures, name));
const ca = pem('ca.pem');
const folder = mkdtempSync(path.join(tmpdir(), 'annals-tls-'));
const [cert, key] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];

/** Puts a certificate and its key where they are looked for, each at once. */
function install(name: string, keyOf = name): void {
  for (const [from, to] of [
    [`${name}.pem`, cert],
    [`${keyOf}.key`, key],
  ] as const) {
    copyFileSync(path.join(fixtures, from), `${to}.new`);
    renameSync(`${to}.new`, to);
  }
}
beforeEach(() => install('first'));
afterAll(() => rmSync(folder, { recursive: true }));

const version = (node: NodeUnderTest, creds = credentials.createSsl(ca)) =>
  callGrpc(
    node.grpc,
    '/supernode.SupernodeService/GetStatus',
    { request: toBinary(StatusRequestSchema, create(StatusRequestSchema)), output: StatusResponseSchema },
    creds,
  ).then((status) => status.version);

describe('a SuperNode with TLS', () => {
  it(
    'answers gRPC and Connect within it, and refuses plain connections, without a byte',
    { tags: ['S1.tls.on'] },
    async () => {
      await using node = await nodeUnderTest({ tls: { cert, key } });
      expect(await version(node)).toBe('v1.2.3');
      const nodeOptions = { ca };
      const baseUrl = `https://${node.grpc}`;
      for (const transport of [
        createGrpcTransport({ baseUrl, nodeOptions }),
        createConnectTransport({ baseUrl, httpVersion: '1.1', nodeOptions }),
      ])
        expect((await createClient(SupernodeService, transport).getStatus({})).version).toBe('v1.2.3');
      for (const begin of ['GET / HTTP/1.1\r\nhost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']) {
        const socket = connectPlain(node.ports.grpc, node.host);
        const received: Buffer[] = [];
        socket.on('data', (bytes: Buffer) => received.push(bytes)).on('error', () => undefined);
        socket.write(begin);
        await once(socket, 'close');
        expect(received).toEqual([]);
      }
      expect((await fetch(`${node.http}/api/v1/services`)).status).toBe(200);
    },
  );

  it('wants a certificate of its clients where their CA is named', { tags: ['S1.tls.on'] }, async () => {
    await using node = await nodeUnderTest({ tls: { cert, key, clientCa: path.join(fixtures, 'ca.pem') } });
    expect(await version(node, credentials.createSsl(ca, pem('client.key'), pem('client.pem')))).toBe('v1.2.3');
    for (const creds of [
      credentials.createSsl(ca),
      credentials.createSsl(ca, pem('stranger.key'), pem('stranger.pem')),
    ])
      await expect(version(node, creds)).rejects.toMatchObject({ code: 14 });
  });

  it('does not speak TLS 1.1, and picks h2 or http/1.1', { tags: ['S1.tls.on'] }, async () => {
    await using node = await nodeUnderTest({ tls: { cert, key } });
    const options = { host: node.host, port: node.ports.grpc, ca };
    const old = connect({ ...options, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
    for (const protocol of ['h2', 'http/1.1']) {
      const socket = connect({ ...options, ALPNProtocols: [protocol] });
      await once(socket, 'secureConnect');
      expect(socket.alpnProtocol).toBe(protocol);
      socket.destroy();
    }
  });

  it(
    'does not start with a key that does not fit, or files that are not there',
    { tags: ['S1.tls.renewal'] },
    async () => {
      install('first', 'second');
      await expect(nodeUnderTest({ tls: { cert, key } })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      const missing = path.join(folder, 'none');
      await expect(nodeUnderTest({ tls: { cert: missing, key } })).rejects.toThrow(`GRPC_TLS_CERT=${missing}`);
      expect(() => parseConfig({ GRPC_TLS_CERT: 'a' })).toThrow('belong together');
      expect(() => parseConfig({ GRPC_TLS_CLIENT_CA: 'a' })).toThrow('without GRPC_TLS_CERT');
    },
  );
});

describe('a connection that drips', { tags: ['S1.tls.drip'] }, () => {
  const whole = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';

  it.each([
    ['within its handshake', undefined, '\x16\x03\x01\x02\0\x01', ''],
    ['a request of HTTP/1.1 within TLS', 'http/1.1', 'POST /a HTTP/1.1\r\nx: ', ''],
    ['a second request', 'http/1.1', `${whole}POST /a HTTP/1.1\r\nx: `, ''],
    ['the preface of HTTP/2 within TLS', 'h2', 'PRI * HT', 'TP/2.0\r\n\r\nSM\r\n\r\n\0\x0f\0\x04\0\0\0\0\0'],
  ])('is ended: %s', async (_name, protocol, first, more) => {
    await using node = await nodeUnderTest({ tls: { cert, key }, silenceMs: 300 });
    const at = { host: node.host, port: node.ports.grpc };
    const socket = protocol ? connect({ ...at, ca, ALPNProtocols: [protocol] }) : connectPlain(at);
    socket.on('error', () => undefined).resume();
    await once(socket, protocol ? 'secureConnect' : 'connect');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(Buffer.from(first, 'latin1'));
    const rest = Buffer.from(more.padEnd(4_000, 'y'), 'latin1');
    let sent = 0;
    const drip = setInterval(() => socket.writable && socket.write(rest.subarray(sent, ++sent)), 20);
    await closed;
    clearInterval(drip);
    // On a busy machine an honest client may be silent for as long, and connects again.
    await expect.poll(async () => await version(node).catch(String)).toBe('v1.2.3');
  });
});

describe('renewal of a certificate', () => {
  const open: RpcServer[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });

  it(
    'shows to new connections, leaves open ones, and a pair that does not fit changes nothing',
    { tags: ['S1.tls.renewal'] },
    async () => {
      const place = { host: '127.0.0.1', port: 0, what: 'a test', remedy: '' };
      const warned: unknown[] = [];
      const logger = silent.child({}, { level: 'warn' });
      logger.warn = (...line: unknown[]) => void warned.push(line);
      const server = await openRpcPort({ place, handler: () => undefined, tls: { cert, key }, tlsEveryMs: 20, logger });
      open.push(server);
      const dial = async () => {
        const socket = connect({ host: '127.0.0.1', port: server.port, ca });
        await once(socket, 'secureConnect');
        return socket;
      };
      const shown = async (): Promise<unknown> => {
        const socket = await dial();
        const { subject }: PeerCertificate = socket.getPeerCertificate();
        socket.destroy();
        return subject.CN;
      };
      const held = await dial();
      writeFileSync(key, 'no key');
      await until('the broken pair was seen', () => warned.length > 0);
      expect(await shown()).toBe('first');
      install('second');
      await until('the new certificate is shown', async () => (await shown()) === 'second');
      expect([held.destroyed, warned.length]).toEqual([false, 1]);
      held.destroy();
    },
  );
});
