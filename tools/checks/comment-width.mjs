import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from '../boot/paths.mjs';
import { outputOf } from './steps.mjs';

const widest = 120;
const comment = /^\s*(\/\*|\*|\/\/)/;

/** Comments that are wider than code may be: prettier breaks the lines of code, and leaves comments as they are. */
export async function wideComments() {
  const listed = await outputOf('git', [
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
    '*.ts',
    '*.mjs',
    '*.js',
  ]);
  const files = listed.split('\0').filter((file) => file !== '' && !file.includes('/gen/'));
  return (await Promise.all(files.map(wideIn))).flat().join('\n') || undefined;
}

async function wideIn(file) {
  const text = await readFile(path.join(root, file), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line, index) => {
    const { length } = line;
    return length > widest && comment.test(line) ? [`${file}:${index + 1}: a comment of ${length} characters`] : [];
  });
}
