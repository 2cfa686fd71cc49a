import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../boot/paths.mjs';
import { installed, outputOf, program } from './steps.mjs';

const documents = path.join(root, 'tools/gen-docs.mjs');
const rows = path.join(root, 'tools/rows.mjs');
const templates = readdirSync(root).filter((name) => /^buf\.gen.*\.yaml$/.test(name));

/** Writes what is generated: messages from the schemas, one step per template of buf, and documents from the code. */
export const generators = [
  ...templates.map((name) => ({ name, work: () => installed('buf', 'generate', '--template', name) })),
  { name: 'documents', work: () => program(process.execPath, [documents]) },
  { name: 'rows and their tests', work: () => program(process.execPath, [rows]) },
];

/** Generates everything anew; the files that change by it were out of date. */
export async function staleFiles() {
  const before = await fingerprints();
  for (const { name, work } of generators) {
    const problems = await work();
    if (problems) return `${name}: ${problems}`;
  }
  const after = await fingerprints();
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const changed = names.filter((name) => before.get(name) !== after.get(name));
  return changed.length > 0 ? `now written anew, commit them:\n${changed.join('\n')}` : undefined;
}

/** A hash of every file that git does not ignore. */
async function fingerprints() {
  const listed = await outputOf('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  const names = [...new Set(listed.split('\0').filter(Boolean))];
  const entries = names.map(async (name) => {
    const content = await readFile(path.join(root, name)).catch(() => undefined);
    return content ? [[name, createHash('sha256').update(content).digest('hex')]] : [];
  });
  return new Map((await Promise.all(entries)).flat());
}
