import { fork } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { lockDir } from '../../../src/engine/servers/lock.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

test('lockDir refuses a second owner, names the first, and opens again after its release', async () => {
  const dir = temporaryFolder();
  const first = await lockDir(dir);
  await expect(lockDir(dir)).rejects.toThrow(`${dir} is in use by process ${process.pid}`);
  await first.release();
  const second = await lockDir(dir);
  await second.release();
});

test('lockDir names a folder that cannot be made, and what to do', async () => {
  const file = path.join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  for (const dir of [path.join(file, 'local'), '/proc/nothing/local'])
    await expect(lockDir(dir)).rejects.toThrow(/^Cannot use .*(file|nothing).*: E.*Set DATA_DIR to a folder of yours/);
});

test('lockDir replaces what a crash left behind', async () => {
  const dir = temporaryFolder();
  writeFileSync(path.join(dir, 'lock.sock'), '');
  const lock = await lockDir(dir);
  await lock.release();
});

test(
  'lockDir gives a folder to one of two starts at once, whatever a crash left behind',
  { timeout: 120_000 },
  async () => {
    const contender = fileURLToPath(new URL('lock-contender.ts', import.meta.url));
    const contenders = [fork(contender), fork(contender)];
    const answers = (dir: string) =>
      Promise.all(
        contenders.map(async (child) => {
          const answered = once(child, 'message');
          child.send(dir);
          return String((await answered)[0]);
        }),
      );
    const folders = Array.from({ length: 200 }, () => temporaryFolder());
    for (const dir of folders) {
      const stale = createServer().listen(path.join(dir, 'lock.sock'));
      await once(stale, 'listening');
      // A socket whose process is gone: its file stays.
      const file = path.join(dir, 'lock.sock');
      linkSync(file, `${file}.kept`);
      stale.close();
      await once(stale, 'close');
      renameSync(`${file}.kept`, file);
      const found = await answers(dir);
      expect(found.toSorted()).toEqual(['owner', 'refused']);
    }
    for (const child of contenders) child.disconnect();
  },
);
