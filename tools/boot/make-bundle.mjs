/**
 * Bundles the packages that bundled.json names into one folder, which appears when it is complete:
 *
 *   node tools/boot/make-bundle.mjs <folder>
 *
 * They are the packages of many modules that need no file beside their own; what several of them use lies in the bundle
 * once, so that its classes are the same for all.
 */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';

const [folder] = process.argv.slice(2);
const names = JSON.parse(await readFile(new URL('bundled.json', import.meta.url), 'utf8'));

/**
 * What stays outside: packages that Nest would use if they were installed, which it asks for as it runs, and the
 * logger, whose threads run files of its own.
 */
const optional = ['microservices', 'platform-express', 'websockets'].map((name) => `@nestjs/${name}`);
const external = [...optional, 'class-transformer', 'class-validator', 'pino'];

/** A package of CommonJS may ask for modules of Node as it runs. */
const banner = `import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);`;

await mkdir(path.dirname(folder), { recursive: true });
const made = await mkdtemp(`${folder}.`);
try {
  const files = names.map((name, at) => [name, `entry-${at}.mjs`]);
  const sources = path.join(made, 'entries');
  await mkdir(sources);
  for (const [name, file] of files) await writeFile(path.join(sources, file), await entryOf(name));
  await build({
    entryPoints: files.map(([, file]) => path.join(sources, file)),
    outdir: made,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external,
    legalComments: 'none',
    logLevel: 'error',
    banner: { js: banner },
  });
  await writeFile(path.join(made, 'modules.json'), JSON.stringify(Object.fromEntries(files)));
  await rename(made, folder);
} finally {
  await rm(made, { recursive: true, force: true });
}

/** Exports what an import of the package gives; the names that a CommonJS package has show when it is loaded. */
async function entryOf(name) {
  const from = JSON.stringify(name);
  const loaded = await import(name);
  if (!('module.exports' in loaded)) {
    return `export * from ${from};${'default' in loaded ? `\nexport { default } from ${from};` : ''}`;
  }
  const exported = Object.keys(loaded).filter((one) => one !== 'default' && one !== 'module.exports');
  const lines = exported.map((one, at) => `const name${at} = all.${one};\nexport { name${at} as ${one} };`);
  return [`import all from ${from};`, 'export default all;', ...lines].join('\n');
}
