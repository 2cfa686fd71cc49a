/** Writes the parts of the documents that come from the code: the README's table of settings. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './boot/paths.mjs';

const { settingRows } = await import('../src/edges/config.ts');
const file = path.join(root, 'README.md');
const begin = /(<!-- settings: .* -->\n)[\s\S]*?(<!-- \/settings -->)/;

const rows = settingRows().map(({ variable, default: fallback, meaning }) => [
  `\`${variable}\``,
  fallback === '' ? '' : `\`${fallback}\``,
  meaning.replaceAll('|', '\\|'),
]);
const table = [['Variable', 'Default', 'Meaning'], ['---', '---', '---'], ...rows].map(
  (cells) => `| ${cells.join(' | ')} |`,
);

const readme = await readFile(file, 'utf8');
if (!begin.test(readme)) throw new Error('README.md has no place for the settings');
await writeFile(
  file,
  readme.replace(begin, (_, before, after) => `${before}\n${table.join('\n')}\n\n${after}`),
);
