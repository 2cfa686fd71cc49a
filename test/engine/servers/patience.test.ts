import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createPatience } from '../../../src/engine/servers/patience.ts';

const idleMs = 1_000;

test('who works without an answer is waited for beyond the bound, and given up once it stands still', async () => {
  const pid = await started('for (;;);');
  const mayWait = createPatience(pid, idleMs);
  for (const until = performance.now() + 3 * idleMs; performance.now() < until; await pause(20))
    expect(mayWait()).toBe(true);
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => mayWait(), { timeout: 20_000, interval: 20 }).toBe(false);
});

test('who does nothing is waited for as long as it is seen alive', async () => {
  const pid = await started('process.stdin.resume()');
  process.kill(pid, 'SIGSTOP');
  const mayWait = createPatience(pid, idleMs);
  for (const until = performance.now() + 2 * idleMs; performance.now() < until; await pause(20))
    expect(mayWait(true)).toBe(true);
  await expect.poll(() => mayWait(), { timeout: 20_000, interval: 20 }).toBe(false);
});

/** A process that runs a script; returns its id once it does. */
async function started(script: string): Promise<number> {
  const child = spawn(process.execPath, ['-e', `console.log('runs'); ${script}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}
