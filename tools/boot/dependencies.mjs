import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { npmCi } from './npm.mjs';
import { environmentOf, root } from './paths.mjs';
import { say, step } from './progress.mjs';

/** Brings node_modules up to date with package-lock.json, when it is not; costs a few milliseconds when it is. */
export async function ensureDependencies(node) {
  if (!(await whatIsStale())) return;
  const name = `dependencies-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`;
  await withLock(name, async () => {
    const reason = await whatIsStale();
    if (!reason) return;
    await step(`installing dependencies (${reason})`, () => npmCi(root, environmentOf(node)));
    const left = await whatIsStale();
    if (left) say(`after installing, ${left}; going on without`);
  });
}

/**
 * Why node_modules differs from the lock, or nothing.
 *
 * npm writes its own record last, so equal integrities there mean a complete install; this sees interrupted installs
 * and switched branches, and an `npm ci` of the user's own counts.
 */
async function whatIsStale() {
  const wanted = await packagesOf('package-lock.json');
  const installed = await packagesOf('node_modules/.package-lock.json');
  if (!wanted) throw new Error('Cannot read package-lock.json: is this clone complete?');
  if (!installed) return 'nothing is installed yet';
  for (const [place, entry] of Object.entries(installed)) {
    if (wanted[place]?.integrity !== entry.integrity) return `${nameOf(place)} differs from the lock`;
  }
  for (const [place, entry] of Object.entries(wanted)) {
    if (place && !installed[place] && isNeeded(entry)) return `${nameOf(place)} is missing`;
  }
  return undefined;
}

async function packagesOf(file) {
  try {
    return JSON.parse(await readFile(path.join(root, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Optional packages are needed when they are the ones of this platform; npm leaves them out silently when fetching
 * fails.
 */
function isNeeded({ optional, devOptional, peer, os, cpu, libc }) {
  if (!optional && !devOptional && !peer) return true;
  if (!os || libc) return false;
  return [os].flat().includes(process.platform) && (!cpu || [cpu].flat().includes(process.arch));
}

const nameOf = (place) => place.replace(/^.*node_modules\//, '');
