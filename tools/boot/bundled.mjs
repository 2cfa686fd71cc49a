/**
 * Preloaded into the program: what its sources import of the bundled packages is taken from the bundle. What they
 * `require.resolve` is the file of the package.
 *
 * A source that another one names is where it says: Node would look for each, for what it may be a link to, and for
 * the package that it belongs to, which takes a quarter of the time that all of them take to load.
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleFolder } from './bundle.mjs';
import { root } from './paths.mjs';

const sources = pathToFileURL(path.join(root, 'src/')).href;

function bundledUrls() {
  const folder = bundleFolder();
  if (folder === undefined || !existsSync(folder)) return new Map();
  const modules = JSON.parse(readFileSync(path.join(folder, 'modules.json'), 'utf8'));
  return new Map(Object.entries(modules).map(([name, file]) => [name, pathToFileURL(path.join(folder, file)).href]));
}

if (registerHooks) {
  const urls = bundledUrls();
  registerHooks({
    resolve: (name, context, next) => {
      const isImport = context.parentURL?.startsWith(sources) && context.conditions.includes('import');
      if (!isImport) return next(name, context);
      if (name.startsWith('.') && name.endsWith('.ts'))
        return { url: new URL(name, context.parentURL).href, format: 'module-typescript', shortCircuit: true };
      const url = urls.get(name);
      return url === undefined ? next(name, context) : { url, format: 'module', shortCircuit: true };
    },
  });
}
