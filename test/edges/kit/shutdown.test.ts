import { createServer } from 'node:net';
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { assertPortsFree } from '../../../src/edges/roles/ports.ts';
import { shutDown } from '../../../src/edges/kit/shutdown.ts';

const silent = pino({ level: 'silent' });

describe('shutDown', () => {
  it('runs the phases in their order, whatever fails or hangs', async () => {
    const ran: string[] = [];
    const phase = (name: string, run: () => Promise<unknown>, capMs = 5000) => ({
      name,
      capMs,
      run: () => {
        ran.push(name);
        return run();
      },
    });
    const hang = () => new Promise(() => undefined);
    await shutDown(
      [phase('a', () => Promise.reject(new Error('no'))), phase('b', hang, 20), phase('c', async () => undefined)],
      silent,
    );
    expect(ran).toEqual(['a', 'b', 'c']);
  });
});

describe('assertPortsFree', () => {
  it('names the setting of every port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const planned = [
      { setting: 'PORT', host: '127.0.0.1', port },
      { setting: 'NATS_PORT', host: '127.0.0.1', port: 0 },
    ];
    await expect(assertPortsFree(planned)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`PORT=${port}`),
    });
    server.close();
    await once(server, 'close');
    await expect(assertPortsFree(planned)).resolves.toBeUndefined();
  });
});
