import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { assertPortsFree } from '../../src/roles/ports.ts';
import { shutDown } from '../../src/kit/shutdown.ts';

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

describe('strayFailure', () => {
  it.each(['exception', 'rejection'])('ends a process through its phases at a stray %s, logged in its form', (kind) => {
    const file = fileURLToPath(new URL('stray-process.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [file, kind], { encoding: 'utf8' });
    const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
    const logged = lines.map((line) => JSON.parse(line) as { level: string; msg: string; err?: { message: string } });
    // A pipe that is full for a moment may take the lines in another order.
    const told = logged.map(({ level, msg, err }) => [level, msg, err?.message]);
    expect(told).toHaveLength(2);
    expect(told).toContainEqual(['fatal', 'stopping', 'nobody caught this']);
    expect(told).toContainEqual(['info', 'flushed', undefined]);
    expect(status).toBe(3);
  });
});

describe('stopSignal', () => {
  it('takes a Ctrl-C that npm passes on once more for one', async () => {
    const { child, output, exited } = await startStopped(200);
    child.kill('SIGINT');
    await expect.poll(output).toContain('stopping');
    child.kill('SIGINT');
    expect(await exited).toBe(0);
    expect(output()).toContain('stopped');
  });

  it('ends at once when it is told again later', async () => {
    const { child, output, exited } = await startStopped(600_000);
    const telling = setInterval(() => child.kill('SIGINT'), 100);
    onTestFinished(() => clearInterval(telling));
    expect(await exited).toBe(130);
    expect(output()).not.toContain('stopped');
  });
});

/** A process that takes so long to stop, once it runs. */
async function startStopped(ms: number) {
  const file = fileURLToPath(new URL('stopped-process.ts', import.meta.url));
  const child = spawn(process.execPath, [file, String(ms)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()));
  const exited = once(child, 'close').then(([status]: unknown[]) => status);
  await once(child.stdout, 'data');
  return { child, output: () => text, exited };
}

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
