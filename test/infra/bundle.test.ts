import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import bundled from '../../tools/boot/bundled.json' with { type: 'json' };
import { nodeArguments } from '../support/programs/node-arguments.ts';

const root = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** What a process prints in which a script runs as if it were a source of the program. */
async function printed(script: string, options: readonly string[]): Promise<unknown> {
  const sourceUrl = new URL('../../src/printed.mjs', import.meta.url).href;
  const hooks = `import { registerHooks } from 'node:module';
const url = ${JSON.stringify(sourceUrl)};
const source = ${JSON.stringify(script)};
registerHooks({
  resolve: (name, context, next) => (name === url ? { url, shortCircuit: true } : next(name, context)),
  load: (one, context, next) => (one === url ? { format: 'module', source, shortCircuit: true } : next(one, context)),
});
await import(url);`;
  const { stdout } = await run(process.execPath, [...options, '--input-type=module', '-e', hooks], { cwd: root });
  return JSON.parse(stdout);
}

/** The package of an import: `@noble/hashes` of `@noble/hashes/sha2.js`. */
const packageOf = (name: string): string => name.split('/', name.startsWith('@') ? 2 : 1).join('/');

beforeAll(async () => {
  await run(process.execPath, ['tools/boot.mjs'], { cwd: root });
});

it('gives what the packages give', async () => {
  const script = `const exported = {};
for (const name of ${JSON.stringify(bundled)}) {
  const all = Object.entries(await import(name)).filter(([one]) => one !== 'module.exports');
  exported[name] = all.map(([one, value]) => one + ': ' + typeof value).sort();
}
console.log(JSON.stringify(exported));`;
  const ofPackages = (await printed(script, [])) as Record<string, readonly string[]>;
  expect(Object.values(ofPackages).every(({ length }) => length > 0)).toBe(true);
  expect(await printed(script, nodeArguments)).toEqual(ofPackages);
});

it('is what the sources of the program load', async () => {
  const script = `console.log(JSON.stringify(${JSON.stringify(bundled)}.map((name) => import.meta.resolve(name))))`;
  const inPackages = (await printed(script, [])) as string[];
  const inBundle = (await printed(script, nodeArguments)) as string[];
  expect(inPackages.filter((url) => url.includes('/annals-bundle/'))).toEqual([]);
  expect(inBundle.filter((url) => !url.includes('/annals-bundle/'))).toEqual([]);
});

it('has every import of its packages, so that no class exists twice', () => {
  const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(path.join(root, file), 'utf8'));
  const imports = sources.flatMap((text) => [...text.matchAll(/(?:\bfrom|\bimport)[\s(]+['"]([^'".][^'"]*)['"]/g)]);
  const packages = new Set(bundled.map(packageOf));
  const names = new Set(imports.map(([, name = '']) => name).filter((name) => packages.has(packageOf(name))));
  expect([...names].toSorted()).toEqual(bundled);
});
