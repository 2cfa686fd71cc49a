/**
 * Preloaded into the program: what its sources import of the bundled packages is taken from the bundle. What they
 * `require.resolve` is the file of the package.
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleFolder } from './bundle.mjs';
import { root } from './paths.mjs';

const folder = bundleFolder();
if (folder !== undefined && existsSync(folder) && registerHooks) {
  const modules = JSON.parse(readFileSync(path.join(folder, 'modules.json'), 'utf8'));
  const urls = new Map(
    Object.entries(modules).map(([name, file]) => [name, pathToFileURL(path.join(folder, file)).href]),
  );
  const sources = pathToFileURL(path.join(root, 'src/')).href;
  registerHooks({
    resolve: (name, context, next) => {
      const isImport = context.parentURL?.startsWith(sources) && context.conditions.includes('import');
      const url = isImport ? urls.get(name) : undefined;
      return url === undefined ? next(name, context) : { url, format: 'module', shortCircuit: true };
    },
  });
}
