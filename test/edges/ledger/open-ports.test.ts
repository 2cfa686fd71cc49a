import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import { freshLog, seed, silent } from './ledger-under-test.ts';

it('either port closes connections of one address beyond its own at once', { tags: ['S3.limits.bodies'] }, async () => {
  await using fresh = await freshLog();
  const { signal } = new AbortController();
  const { url, rpcUrl, stop } = await runLedger({
    execution: executeInMemory,
    log: fresh.log,
    beginning: () => localBeginning(seed, Date.now()),
    host: '127.0.0.1',
    lcdPort: 0,
    rpcPort: 0,
    connections: { mostPerAddress: 1, trustedProxies: ['127.0.0.9'] },
    logger: silent,
    signal,
  });
  onTestFinished(stop);
  const alive = async (server: string, localAddress: string): Promise<boolean> => {
    const { hostname, port } = new URL(server);
    const socket = connect({ host: hostname, port: Number(port), localAddress }).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
  };
  for (const server of [url, rpcUrl ?? '']) {
    expect([await alive(server, '127.0.0.1'), await alive(server, '127.0.0.1')]).toEqual([true, false]);
    expect(await alive(server, '127.0.0.2')).toBe(true);
    expect([await alive(server, '127.0.0.9'), await alive(server, '127.0.0.9')]).toEqual([true, true]);
  }
});
