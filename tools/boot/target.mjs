import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './paths.mjs';

const CLI = 'src/cli/main.ts';

/** Node 22 still warns that running TypeScript is experimental. */
const QUIET = '--disable-warning=ExperimentalWarning';

/**
 * The program holds little that is new at a time: a larger place for it stays resident and takes longer to look
 * through. Memory may double before it is looked through as a whole, which takes 30 ms of a core. One thread beside it
 * tidies up; more would take the cores on which the database answers. The compiler between the quick one and the good
 * one takes 14 MB and saves no time that can be measured.
 */
const LEAN = JSON.parse(readFileSync(new URL('lean.json', import.meta.url), 'utf8'));

/** Takes packages of many modules from their bundle; one argument, by which threads of the program take it over. */
const BUNDLED = `--import=${pathToFileURL(path.join(root, 'tools/boot/bundled.mjs')).href}`;

/** Ends programs that know nothing of the lifeline. */
const LIFELINE = ['--import', pathToFileURL(path.join(root, 'tools/boot/lifeline.mjs')).href];

/**
 * The arguments for Node of what boot.mjs was asked to run; nothing when it was asked for nothing.
 *
 * The command line keeps the folder it was called from; everything else runs in the root of the clone.
 */
export function targetArguments([kind, ...rest]) {
  if (kind === undefined) return undefined;
  if (kind === 'shell') return [QUIET, BUNDLED, ...LEAN, path.join(root, CLI)];
  process.chdir(root);
  const [what, ...args] = rest;
  switch (kind) {
    case 'dev':
      return [...LIFELINE, binOf('tsx'), 'watch', '--clear-screen=false', CLI, 'up', ...rest];
    case 'bin':
      return [...LIFELINE, binOf(what), ...args];
    case 'run':
      return [...LIFELINE, QUIET, path.join(root, what), ...args];
    default:
      throw new Error(`boot.mjs knows shell, dev, bin and run, not "${kind}"`);
  }
}

/** The program file of an installed package: `vitest`, or `typescript:tsc` when the names differ. */
function binOf(spec) {
  const [name, bin = name] = spec.split(':');
  const folder = path.join(root, 'node_modules', name);
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return path.join(folder, typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[bin]);
}
