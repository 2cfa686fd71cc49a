import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { watchLastBlock } from '../../../../src/edges/servers/nats/last-block.ts';
import { temporaryFolder } from '../../../support/processes.ts';

const life = '2026-01-01T00:00:00Z';

/** A stream's folder with two blocks that were looked at, the second of which is being written. */
async function watched() {
  const folder = temporaryFolder();
  const block = (number: number): string => path.join(folder, 'msgs', `${number}.blk`);
  mkdirSync(path.join(folder, 'msgs'));
  writeFileSync(block(9), 'nine'.repeat(1000));
  writeFileSync(block(10), 'ten'.repeat(1000));
  const look = watchLastBlock(folder);
  expect(await look(life)).toBeUndefined();
  appendFileSync(block(10), 'more');
  expect(await look(life)).toBeUndefined();
  return { block, look };
}

test('watchLastBlock finds nothing while the block grows, is replaced as a whole, or a further one begins', async () => {
  const { block, look } = await watched();
  writeFileSync(block(11), '');
  expect(await look(life)).toBeUndefined();
  rmSync(block(10));
  writeFileSync(block(11), 'eleven');
  expect(await look(life)).toBeUndefined();
  writeFileSync(`${block(11)}.tmp`, 'else');
  renameSync(`${block(11)}.tmp`, block(11));
  expect(await look(life)).toBeUndefined();
});

test('watchLastBlock finds one changed byte of what was there before', async () => {
  const { block, look } = await watched();
  const bytes = readFileSync(block(10));
  bytes.write('X', 3001);
  writeFileSync(block(10), bytes);
  appendFileSync(block(10), 'and more');
  expect(await look(life)).toBe('block 10 is not what was written');
});

test('watchLastBlock finds that the block was cut or is gone, unless the stream was made anew', async () => {
  const { block, look } = await watched();
  truncateSync(block(10), 2000);
  expect(await look(life)).toBe('block 10 was cut from 3004 to 2000');
  expect(await look(life)).toBeUndefined();
  rmSync(block(10));
  expect(await look(life)).toBe('block 10 is gone');
  expect(await look(life)).toBeUndefined();
  rmSync(block(9));
  expect(await look('2026-02-02T00:00:00Z')).toBeUndefined();
});
