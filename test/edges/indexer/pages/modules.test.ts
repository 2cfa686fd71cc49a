import { expect, it, onTestFinished } from 'vitest';
import { registerPages } from '../../../../src/edges/indexer/pages/pages.ts';
import { startRest } from '../rest/rest-server.ts';
import { sample } from '../rest/sample.ts';
import { pageSources } from './page-sources.ts';

it('a page names from the start what its script imports at any depth, and nothing else', async () => {
  const rest = await startRest(sample, { registerPages: (pages) => registerPages(pages, pageSources) });
  onTestFinished(() => rest.close());
  const textAt = async (path: string): Promise<string> => await (await fetch(`${rest.url}${path}`)).text();
  const named = [...(await textAt('/actions')).matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, href]) => href);
  const imported = new Set(['/assets/explorer.js']);
  for (const path of imported)
    for (const [, from = ''] of (await textAt(path)).matchAll(/^import [^;]* from '([^']+)';$/gm))
      imported.add(new URL(from, `${rest.url}${path}`).pathname);
  imported.delete('/assets/explorer.js');
  expect(named).toHaveLength(imported.size);
  expect(new Set(named)).toEqual(imported);
});
