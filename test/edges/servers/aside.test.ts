import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { setAside } from '../../../src/edges/servers/aside.ts';
import { temporaryFolder } from '../../support/processes.ts';

test('setAside keeps the newest three damaged folders, and tells what it removes', async () => {
  const parent = temporaryFolder();
  mkdirSync(path.join(parent, 'other.damaged-2020-01-01T00-00-00-000Z'));
  for (const year of [2021, 2022, 2023]) mkdirSync(path.join(parent, `js.damaged-${year}-01-01T00-00-00-000Z`));
  const folder = path.join(parent, 'js');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'newest'), 'content');
  const said: string[] = [];
  const to = await setAside(folder, (line) => said.push(line));
  expect(readFileSync(path.join(to ?? '', 'newest'), 'utf8')).toBe('content');
  expect(readdirSync(parent)).toEqual([
    'js.damaged-2022-01-01T00-00-00-000Z',
    'js.damaged-2023-01-01T00-00-00-000Z',
    path.basename(to ?? ''),
    'other.damaged-2020-01-01T00-00-00-000Z',
  ]);
  expect(said).toEqual([
    expect.stringContaining('was moved to'),
    expect.stringContaining('2021-01-01T00-00-00-000Z is'),
  ]);
  expect(await setAside(folder, () => undefined)).toBeUndefined();
});
