import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { writeDurably } from '../../../src/engine/servers/durable-file.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

test('writeDurably replaces a file as a whole and leaves nothing else', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'mode');
  for (const text of ['a text that is longer', 'short']) {
    await writeDurably(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
  expect(readdirSync(folder)).toEqual(['mode']);
});
