import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { isDataDamage, setAside } from '../../../src/engine/servers/aside.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

test('setAside moves a folder and never removes one that was moved before', async () => {
  const parent = temporaryFolder();
  for (const year of [2021, 2022, 2023, 2024]) mkdirSync(path.join(parent, `js.damaged-${year}-01-01T00-00-00-000Z`));
  const folder = path.join(parent, 'js');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'newest'), 'content');
  const said: string[] = [];
  const to = await setAside(folder, (line) => said.push(line));
  expect(readFileSync(path.join(to ?? '', 'newest'), 'utf8')).toBe('content');
  expect(readdirSync(parent)).toHaveLength(5);
  expect(said).toEqual([expect.stringContaining('was moved to')]);
  expect(await setAside(folder, () => undefined)).toBeUndefined();
});

test.each([
  ['the out-of-memory killer', 'was ended by SIGKILL\n[1] [INF] Restoring stream'],
  ['a service manager', 'was ended by SIGTERM'],
  ['a clean end', 'ended with code 0\nLOG:  received fast shutdown request\nLOG:  database system is shut down'],
  ['an unknown setting', 'ended with code 1\nFATAL:  unrecognized configuration parameter "sharde_buffers"'],
  [
    'a missing library',
    'ended with code 127\nerror while loading shared libraries: libicuuc.so.60: cannot open shared object file',
  ],
  [
    'a missing library of the server',
    'ended with code 1\nFATAL:  could not access file "pg_prewarm": No such file or directory',
  ],
  ['an unknown field', 'ended with code 1\nnats-server: nats.conf:3:1: unknown field "jetstreem"'],
  ['a full disk', 'ended with code 1\nPANIC:  could not write to file "pg_wal/xlogtemp.12": No space left on device'],
  [
    'a port that is taken',
    'ended with code 1\n[FTL] Error listening on port: 127.0.0.1:4222, "listen tcp: address already in use"',
  ],
  ['nothing at all', 'ended with code 1'],
])('isDataDamage sees none in the words of %s', (_, words) => {
  expect(isDataDamage(words)).toBe(false);
});

test.each([
  'ended with code 1\nPANIC:  could not locate a valid checkpoint record at 0/1A2B3C4',
  'ended with code 1\nFATAL:  invalid page in block 0 of relation "base/5/1259"',
  'ended with code 1\nFATAL:  incorrect checksum in control file',
  'ended with code 1\nFATAL:  could not open file "global/pg_filenode.map": No such file or directory',
  'ended with code 1\nFATAL:  "/data/db/pg18" is not a valid data directory',
  'ended with code 1\n[FTL] JetStream failed: malformed or corrupt message',
])('isDataDamage sees it where a server says so: %s', (words) => {
  expect(isDataDamage(words)).toBe(true);
});
