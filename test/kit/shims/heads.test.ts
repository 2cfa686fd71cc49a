import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
const { version: node } = JSON.parse(readFileSync('tools/node/package.json', 'utf8')) as { version: string };
const versions: Readonly<Record<string, string>> = { ...dependencies, node };

test.each(globSync('src/kit/shims/*/*.ts'))('%s names the version of the library that it corrects', (file) => {
  const [, library = '', version] = /^\/\*\* (\S+) (\d+\.\d+\.\d+) /.exec(readFileSync(file, 'utf8')) ?? [];
  expect(version).toBe(versions[library]);
});
