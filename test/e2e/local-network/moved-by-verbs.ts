import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { bytesOf } from '../../edges/node/files-under-test.ts';
import { jsonLines, runVerb } from '../../support/programs/verb.ts';

/** Stores a file that only its creator may have by `annals upload`, and fetches it back by `annals download`. */
export async function expectMovedByVerbs(dataDir: string): Promise<void> {
  const file = path.join(dataDir, 'by verb.bin');
  writeFileSync(file, bytesOf('v', 300_000));
  const stored = await runVerb(dataDir, 'upload', file, '--private', '--json');
  expect(stored).toMatchObject({ status: 0, stderr: '' });
  const lines = jsonLines(stored);
  expect(lines.at(-2)).toMatchObject({ status: 'sdk:completed' });
  expect(lines.at(-1)).toMatchObject({ size: 300_000, tx_hash: expect.stringMatching(/^[0-9A-F]{64}$/) as string });
  const id = String(lines.at(-1)?.['action_id']);

  const out = path.join(dataDir, 'back.bin');
  const fetched = await runVerb(dataDir, 'download', id, '--out', out);
  expect(fetched).toMatchObject({ status: 0, stderr: '' });
  expect(fetched.stdout).toMatch(/sdk:started[^]*sdk:completed[^]*Wrote .*back\.bin, 300000 bytes\./);
  expect(readFileSync(out).equals(readFileSync(file))).toBe(true);
  const again = await runVerb(dataDir, 'download', id, '--out', out);
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('is there already') as string });
}
