import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSpill } from '../../../src/engine/models/build/spill.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

test('openSpill gives back the records of each partition in their order, however large they are', () => {
  const record = fc.record({
    partition: fc.nat(3),
    text: fc.string({ maxLength: 50 }),
    repeat: fc.constantFrom(1, 1, 40_000),
  });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), (records) => {
      const spill = openSpill<{ text: string; at: number }>(4);
      const values = records.map(({ partition, text, repeat }, at) => ({
        partition,
        value: { text: text.repeat(repeat), at },
      }));
      for (const { partition, value } of values) spill.add(partition, value);
      for (let partition = 0; partition < 4; partition++)
        expect([...spill.read(partition)]).toEqual(
          values.filter((one) => one.partition === partition).map(({ value }) => value),
        );
      spill.close();
    }),
    { numRuns: 50 },
  );
});

test('openSpill gives back its room on disk once it is closed', () => {
  const folder = temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const spill = openSpill<string>(2);
  for (let at = 0; at < 100; at++) spill.add(1, 'x'.repeat(10_000));
  expect(openFilesIn(folder)).toHaveLength(1);
  spill.close();
  spill.close();
  expect(openFilesIn(folder)).toEqual([]);
});

/** Files of a folder that this process holds open, also those without a name. */
function openFilesIn(folder: string): string[] {
  return readdirSync('/proc/self/fd')
    .map(targetOf)
    .filter((target) => target.startsWith(`${folder}${path.sep}`));
}

/** The descriptor that lists the others is closed by now. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(path.join('/proc/self/fd', descriptor));
  } catch {
    return '';
  }
}

test('openSpill leaves nothing on disk of a process that is killed', async () => {
  const folder = temporaryFolder();
  const source = new URL('../../../src/engine/models/build/spill.ts', import.meta.url);
  const script = `import { openSpill } from '${source.href}';
    const spill = openSpill(2);
    for (let at = 0; at < 100; at++) spill.add(1, 'x'.repeat(10_000));
    process.send('spilled');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [message] = await once(child, 'message');
  expect(message).toBe('spilled');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(readdirSync(folder)).toEqual([]);
});
