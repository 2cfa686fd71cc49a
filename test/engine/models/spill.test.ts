import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSpill } from '../../../src/engine/models/build/spill.ts';
import { temporaryFolder } from '../../support/programs/processes.ts';

const spilled = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('annals-spill-'));

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

test('openSpill leaves nothing on disk once it is closed', () => {
  // Other processes spill into the common one.
  vi.stubEnv('TMPDIR', temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const spill = openSpill<string>(2);
  for (let at = 0; at < 100; at++) spill.add(1, 'x'.repeat(10_000));
  expect(spilled().length).toBeGreaterThan(0);
  spill.close();
  spill.close();
  expect(spilled()).toEqual([]);
});
