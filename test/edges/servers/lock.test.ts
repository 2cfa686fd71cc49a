import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { lockDir } from '../../../src/edges/servers/lock.ts';
import { temporaryFolder } from '../../support/processes.ts';

test('lockDir refuses a second owner, names the first, and opens again after its release', async () => {
  const dir = temporaryFolder();
  const first = await lockDir(dir);
  await expect(lockDir(dir)).rejects.toThrow(`${dir} is in use by process ${process.pid}`);
  await first.release();
  const second = await lockDir(dir);
  await second.release();
});

test('lockDir replaces what a crash left behind', async () => {
  const dir = temporaryFolder();
  writeFileSync(path.join(dir, 'lock.sock'), '');
  const lock = await lockDir(dir);
  await lock.release();
});
