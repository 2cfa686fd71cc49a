import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { npmCi } from './npm.mjs';
import { cache, root } from './paths.mjs';
import { step } from './progress.mjs';

const OLDEST = '22.19';

/** Whether this version runs TypeScript files by itself and is one that the dependencies support. */
export function isGoodNode(version) {
  const [major, minor] = version.replace('v', '').split('.').map(Number);
  return (major === 22 && minor >= 19) || major === 24 || major >= 26;
}

/** The path of a Node that is new enough: the one at hand, else one in the user's cache, fetched there once. */
export async function ensureNode() {
  if (isGoodNode(process.version)) return process.execPath;
  const wanted = JSON.parse(await readFile(path.join(root, 'tools/node/package.json'), 'utf8'));
  const platform = `${process.platform}-${process.arch}`;
  const folder = path.join(cache, `node-${wanted.version}-${platform}`);
  const node = path.join(folder, 'bin/node');
  if (existsSync(node)) return node;
  if (!wanted.optionalDependencies[`node-${platform}`]) {
    throw new Error(
      `needs Node ${OLDEST} or later (found ${process.version}) and has none to fetch for ${platform}: install one`,
    );
  }
  await step(`Node ${process.version} is too old: fetching Node ${wanted.version} into ${cache}`, () =>
    withLock('node', () => (existsSync(node) ? undefined : fetchNode(folder, `node-${platform}`))),
  );
  return node;
}

/** Installs the package beside its final place, keeps the program alone, and moves it in as one. */
async function fetchNode(folder, packageName) {
  const scratch = `${folder}.${process.pid}`;
  try {
    await mkdir(path.join(scratch, 'bin'), { recursive: true });
    for (const file of ['tools/node/package.json', 'tools/node/package-lock.json', '.npmrc']) {
      await copyFile(path.join(root, file), path.join(scratch, path.basename(file)));
    }
    await npmCi(scratch);
    const installed = path.join(scratch, 'node_modules', packageName, 'bin/node');
    await rename(installed, path.join(scratch, 'bin/node'));
    await rm(path.join(scratch, 'node_modules'), { recursive: true });
    await rename(scratch, folder);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
