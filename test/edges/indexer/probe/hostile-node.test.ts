import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { probeNode, type Probed } from '../../../../src/edges/indexer/probe/probe.ts';
import { closedPort, dialInstead, httpPort, listen, recorded } from './fake-node.ts';

const limits = { connectMs: 300, statusMs: 600, servicesMs: 300, maxBytes: 20_000 };
/** More than the kernel buffers for both ends, and far less than a reader without a bound takes in its time. */
const mostBytes = 64 * 1024 * 1024;

/** What one side wrote until the other one hung up; a peer that reads nothing more takes what the kernel buffers. */
type Wrote = { bytes: number };

async function probe(port: number, isServicesDue = false): Promise<Probed> {
  const closed = await closedPort();
  const { signal } = new AbortController();
  const options = { allowPrivate: false, allowHostNames: false, isServicesDue, limits, signal };
  return await probeNode('1.1.1.1', {
    ...options,
    dial: dialInstead(() => ({ 4444: closed, 4445: closed, 8002: port })),
  });
}

/** A node that greets with some bytes and then writes others again and again, as fast as they are taken. */
async function flood(first: string, again: string): Promise<{ probed: Probed; wrote: Wrote }> {
  const wrote: Wrote = { bytes: 0 };
  const part = again.repeat(Math.ceil(16_384 / again.length));
  const pour = (socket: Socket): void => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(part)) wrote.bytes += part.length;
      wrote.bytes += part.length;
    };
    socket.on('drain', more).on('error', () => undefined);
    socket.once('data', () => {
      socket.write(first);
      more();
    });
  };
  await using node = await listen(createServer(pour));
  return { probed: await probe(node.port), wrote };
}

/** A node that answers one request by HTTP. */
async function answerWith(answer: (response: ServerResponse) => void): Promise<Probed> {
  await using node = await httpPort((_, response) => answer(response));
  return await probe(node.port);
}
const ok = 'HTTP/1.1 200 OK\r\n';

describe('probeNode against a node that wants to do harm', () => {
  it.each([
    ['headers without end', ok, 'x: y\r\n', 'too_large'],
    ['one header line without end', `${ok}x: `, 'yyyyyyyy', 'too_large'],
    ['a status line without end', 'HTTP/1.1 200 ', 'OKOKOKOK', 'too_large'],
    ['answers before the answer without end', '', 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n', 'http_error'],
    ['100 Continue without end', '', 'HTTP/1.1 100 Continue\r\n\r\n', 'http_error'],
    ['a body without end or length', `${ok}\r\n`, 'aaaaaaaa', 'too_large'],
    ['chunks without end', `${ok}transfer-encoding: chunked\r\n\r\n`, '8\r\naaaaaaaa\r\n', 'too_large'],
    ['a chunk extension without end', `${ok}transfer-encoding: chunked\r\n\r\n8;`, 'aaaaaaaa', 'http_error'],
    ['a length of sixteen exabytes', `${ok}content-length: 18446744073709551615\r\n\r\n`, 'aaaaaaaa', 'too_large'],
    ['no HTTP at all without end', '', '\0\xff\0\xff', 'malformed'],
  ])('stops reading %s', { tags: ['LS-24'] }, async (_what, first, again, answer) => {
    const { probed, wrote } = await flood(first, again);
    expect(probed.ports.at(-1)).toEqual({ port: 8002, outcome: 'open' });
    expect(probed.statusAnswer).toBe(answer);
    expect(probed).not.toHaveProperty('figures');
    expect(wrote.bytes).toBeLessThan(mostBytes);
  });

  it('unpacks nothing, so that a small body cannot become a large one', { tags: ['LS-24'] }, async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000, '{"version":"v1"} '));
    expect(bomb.byteLength).toBeLessThan(limits.maxBytes);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect((await answerWith((response) => response.writeHead(200, headers).end(bomb))).statusAnswer).toBe('malformed');
  });

  it('takes no JSON that is all brackets, which would cost more than its size', async () => {
    const deep = `{"version":"v1","more":${'['.repeat(9_000)}${']'.repeat(9_000)}}`;
    expect((await answerWith((response) => response.end(deep))).statusAnswer).toBe('malformed');
  });

  it.each([301, 302, 303, 307, 308])('follows no %i, wherever it leads', { tags: ['LS-23'] }, async (status) => {
    await using inside = await httpPort((_, response) => recorded(response, 'status'));
    const location = `http://127.0.0.1:${inside.port}/api/v1/status`;
    const probed = await answerWith((response) =>
      response.writeHead(status, { location, refresh: `0; url=${location}` }).end('{"version":"v1"}'),
    );
    expect(probed.statusAnswer).toBe('http_error');
    expect(probed).not.toHaveProperty('figures');
    expect(inside.accepted()).toBe(0);
  });

  it('gives up on one that ends its half of the connection, and on one that never ends its own', async () => {
    await using half = await listen(createServer({ allowHalfOpen: true }, (socket) => socket.end()));
    expect((await probe(half.port)).statusAnswer).toBe('http_error');
    let isHungUp: (value: boolean) => void = () => undefined;
    const hungUp = new Promise<boolean>((resolve) => (isHungUp = resolve));
    const silent = createServer({ allowHalfOpen: true }, (socket) =>
      socket
        .on('error', () => isHungUp(true))
        .on('end', () => isHungUp(true))
        .resume(),
    );
    await using open = await listen(silent);
    expect((await probe(open.port)).statusAnswer).toBe('timeout');
    expect(await hungUp, 'our side is closed, whatever the node does with its own').toBe(true);
  });

  it('believes the status of a node whose list of services never comes', async () => {
    await using node = await httpPort(({ url }, response) => {
      if (url?.includes('status')) recorded(response, 'status');
      else response.writeHead(200, { 'content-length': '100' }).write('{');
    });
    expect(await probe(node.port, true)).toMatchObject({ statusAnswer: 'ok', listed: { services: [] } });
  });
});
