/** Writes what comes from the code: docs/settings.md, and the catalogue of JSON-RPC. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { root } from './boot/paths.mjs';

const { settingRows } = await import('../src/config.ts');
const file = path.join(root, 'docs/settings.md');
const begin = /(<!-- settings: .* -->\n)[\s\S]*?(<!-- \/settings -->)/;

const line = (cells) => `| ${cells.join(' | ')} |`;
const header = [
  ['Variable', 'Default', 'Meaning'],
  ['---', '---', '---'],
].map(line);
const rowOf = ({ variable, default: fallback, meaning }) =>
  line([`\`${variable}\``, fallback === '' ? '' : `\`${fallback}\``, meaning.replaceAll('|', '\\|')]);
const table = [...Map.groupBy(settingRows(), ({ group }) => group)].flatMap(([group, rows]) => [
  `### ${group}`,
  '',
  ...header,
  ...rows.map(rowOf),
  '',
]);

const page = await readFile(file, 'utf8');
if (!begin.test(page)) throw new Error('docs/settings.md has no place for the settings');
await writeFile(
  file,
  page.replace(begin, (_, before, after) => `${before}\n${table.join('\n')}\n${after}`),
);

const { methods } = await import('../src/edges/evm/methods/all.ts');
const { catalogueOf } = await import('../src/edges/evm/rpc/catalogue.ts');
const { settings } = await import('../src/config.ts');
const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
const { evmNamespaces, evmHttpPort } = settings;
const enabled = new Set(evmNamespaces.parse(evmNamespaces.default));
const catalogue = catalogueOf(methods, { version, url: `http://localhost:${evmHttpPort.default}`, enabled });
await writeFile(path.join(root, 'infra/openrpc.json'), `${JSON.stringify(catalogue, undefined, 2)}\n`);
