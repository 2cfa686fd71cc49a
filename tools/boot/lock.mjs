import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cache } from './paths.mjs';

const LOOK_AGAIN_MS = 200;
/** A lock folder without its owner's number is either just being made or was left by a crash. */
const LOOKS_BEFORE_NAMELESS_IS_DEAD = 10;

/** Runs `work` while no other process holds the lock of this name; a lock whose owner has died is taken over. */
export async function withLock(name, work) {
  const folder = path.join(cache, `${name}.lock`);
  await mkdir(cache, { recursive: true });
  for (let looks = 0; !(await take(folder)); looks += 1) {
    if (await isDead(folder, looks)) await remove(folder);
    else await pause(LOOK_AGAIN_MS);
  }
  try {
    return await work();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function take(folder) {
  try {
    await mkdir(folder);
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  await writeFile(path.join(folder, 'pid'), String(process.pid));
  return true;
}

async function isDead(folder, looks) {
  const pid = Number(await readFile(path.join(folder, 'pid'), 'utf8').catch(() => ''));
  if (!pid) return looks >= LOOKS_BEFORE_NAMELESS_IS_DEAD;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Renames first, so that of several takers only one removes, and never a lock that was made anew meanwhile. */
async function remove(folder) {
  const grave = `${folder}.${process.pid}`;
  await rename(folder, grave).catch(() => undefined);
  await rm(grave, { recursive: true, force: true });
}
