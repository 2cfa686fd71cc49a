import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { root } from '../boot/paths.mjs';
import { outputOf } from './steps.mjs';

/**
 * TypeScript that Node itself cannot read. There is no build step: Node strips the types of every file that it loads,
 * by a parser of its own that refuses a little of what the compiler takes (`for (const of of ['a', 'b'])`).
 */
export async function unreadableByNode() {
  const listed = await outputOf('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.ts']);
  const files = listed.split('\0').filter((file) => file !== '');
  return (await Promise.all(files.map(problemOf))).flat().join('\n') || undefined;
}

async function problemOf(file) {
  const text = await readFile(path.join(root, file), 'utf8').catch(() => '');
  try {
    stripTypeScriptTypes(text, { mode: 'strip', sourceUrl: file });
    return [];
  } catch (error) {
    return [`${error.stack.split('\n', 1)[0]}: Node cannot read this TypeScript: ${error.message}`];
  }
}
