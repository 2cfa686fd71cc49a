import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { environmentOf, root } from './paths.mjs';
import { say, step } from './progress.mjs';

const parts = ['node_modules/.package-lock.json', 'tools/boot/bundled.json', 'tools/boot/make-bundle.mjs'];

/**
 * The folder of the bundle of what is installed now; undefined where nothing is. `npm ci` removes it with everything
 * else.
 */
export function bundleFolder() {
  const hash = createHash('sha256');
  try {
    for (const part of parts) hash.update(readFileSync(path.join(root, part)));
  } catch {
    return undefined;
  }
  return path.join(root, 'node_modules/.cache/annals-bundle', hash.digest('hex').slice(0, 16));
}

/**
 * Bundles the packages of many modules, where that has not been done since they were installed: a start then loads a
 * quarter of the modules in less than half of the time, and takes 70 MB less. Without a bundle everything runs as well.
 */
export async function ensureBundle(node) {
  const folder = bundleFolder();
  if (folder === undefined || existsSync(folder)) return;
  const make = () => (existsSync(folder) ? undefined : makeBundle(node, folder));
  try {
    await withLock(`bundle-${path.basename(folder)}`, () => step('bundling dependencies', make));
  } catch (error) {
    say(`${error.message}; going on without a bundle, so that starts take longer`);
  }
}

async function makeBundle(node, folder) {
  const script = path.join(root, 'tools/boot/make-bundle.mjs');
  const child = spawn(node, [script, folder], {
    cwd: root,
    env: environmentOf(node),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return;
  const reason = output.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? output.trim();
  throw new Error(`The dependencies could not be bundled (${reason})`);
}
