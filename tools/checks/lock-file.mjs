import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../boot/paths.mjs';

/**
 * What would keep a lock file from installing elsewhere: a platform's package that is not in it, an entry without
 * integrity, or one that names a download address.
 */
export async function lockProblems(file) {
  const { packages } = JSON.parse(await readFile(path.join(root, file), 'utf8'));
  const problems = Object.entries(packages).flatMap(([place, entry]) => [
    ...(place && !entry.link && !entry.integrity ? [`${place}: no integrity`] : []),
    ...(place && /^\w+:\/\//.test(entry.resolved ?? '') ? [`${place}: names a download address`] : []),
    ...Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !resolves(packages, place, name))
      .map((name) => `${place || 'root'}: ${name} is not in the lock, so another platform could not install`),
  ]);
  return problems.join('\n') || undefined;
}

/** Whether a dependency is found in the package's own node_modules or in one above it. */
function resolves(packages, place, name) {
  for (let folder = place; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    if (packages[`${folder ? `${folder}/` : ''}node_modules/${name}`]) return true;
    if (!folder) return false;
  }
}
