import { execFile } from 'node:child_process';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { type Liveness, openLiveness } from '../../../../src/edges/gateway/tasks/liveness.ts';
import { runScript, temporaryFolder } from '../../../support/programs/processes.ts';

const run = promisify(execFile);

async function neighbour(folder: string): Promise<Liveness> {
  const opened = await openLiveness(folder);
  onTestFinished(opened.close);
  return opened;
}

/** A process in a folder, and the end of it. */
async function living(folder: string) {
  const { child, nextLine, ended } = runScript(new URL('living-process.ts', import.meta.url), [folder]);
  const id = await nextLine();
  return {
    id,
    signal: (name: NodeJS.Signals) => void child.kill(name),
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    close: async () => {
      child.stdin?.end();
      await ended;
    },
  };
}

it('a process has ended once it was killed, and not while it lives or is frozen', async () => {
  const folder = temporaryFolder();
  const one = await living(folder);
  const { hasEnded } = await neighbour(folder);
  expect(await hasEnded(one.id)).toBe(false);
  one.signal('SIGSTOP');
  expect(await hasEnded(one.id)).toBe(false);
  await one.kill();
  expect(await hasEnded(one.id)).toBe(true);
  // One that comes later sees the same, and so does one of a folder whose path is longer than that of any socket.
  expect(await (await neighbour(folder)).hasEnded(one.id)).toBe(true);
  const long = path.join(folder, 'long'.repeat(40));
  const other = await living(long);
  const beside = await neighbour(long);
  expect(await beside.hasEnded(other.id)).toBe(false);
  await other.kill();
  expect(await beside.hasEnded(other.id)).toBe(true);
});

it('a process that left in order, or that nobody knows, is not known to have ended', async () => {
  const folder = temporaryFolder();
  const one = await living(folder);
  const { hasEnded } = await neighbour(folder);
  await one.close();
  for (const id of [one.id, '0123456789abcdef', '../store-id', '']) expect(await hasEnded(id)).toBe(false);
  expect(await readdir(path.join(folder, 'alive'))).toHaveLength(2);
});

it('a copy of the folder is evidence of nothing, though the process of its socket lives or has ended', async () => {
  const folder = temporaryFolder();
  const copy = path.join(temporaryFolder(), 'copy');
  const one = await living(folder);
  await run('cp', ['-a', folder, copy]);
  const { hasEnded } = await neighbour(copy);
  expect(await readdir(path.join(copy, 'alive'))).toContain(one.id);
  expect(await hasEnded(one.id)).toBe(false);
  // The same where the copy has taken the folder's path.
  await rename(folder, `${copy}-before`);
  await run('cp', ['-a', copy, folder]);
  expect(await (await neighbour(folder)).hasEnded(one.id)).toBe(false);
  await one.kill();
  expect(await hasEnded(one.id)).toBe(false);
});

it('nothing is known of a process of another boot or machine, or before it has noted its socket', async () => {
  const folder = temporaryFolder();
  const [one, two] = [await living(folder), await living(folder)];
  const noted = path.join(folder, 'alive', `${one.id}.made`);
  const { hasEnded } = await neighbour(folder);
  for (const { kill } of [one, two]) await kill();
  await writeFile(noted, (await readFile(noted, 'utf8')).replace(/^\S+/, '11111111-2222-3333-4444-555555555555'));
  await rm(path.join(folder, 'alive', `${two.id}.made`));
  for (const { id } of [one, two]) expect(await hasEnded(id)).toBe(false);
  // The next one removes what is of another boot.
  await neighbour(folder);
  expect((await readdir(path.join(folder, 'alive'))).some((name) => name.startsWith(one.id))).toBe(false);
});

it('the evidence of sixteen that ended is left, and of all that live', async () => {
  const folder = temporaryFolder();
  const alive = await living(folder);
  const killed = [];
  for (let count = 0; count < 18; count += 1) {
    const one = await living(folder);
    await one.kill();
    killed.push(one.id);
  }
  const { hasEnded, id } = await neighbour(folder);
  const names = (await readdir(path.join(folder, 'alive'))).filter((name) => !name.endsWith('.made'));
  expect(names).toEqual(expect.arrayContaining([alive.id, id, ...killed.slice(-15)]));
  expect(names.length).toBeLessThanOrEqual(18);
  expect(await hasEnded(alive.id)).toBe(false);
  expect(await hasEnded(killed.at(-1) ?? '')).toBe(true);
});
