import { expect, test } from 'vitest';
import { isServicesDue, servicesEveryMs } from '../../../../src/edges/indexer/probe/status.ts';

test('isServicesDue is so where nobody has asked, an interval after, and when the clock was set back behind the last time', () => {
  const asked = '2026-11-21T10:00:00.000Z';
  const at = Date.parse(asked);
  expect(isServicesDue(undefined, at)).toBe(true);
  expect(isServicesDue('never', at)).toBe(true);
  expect(isServicesDue(asked, at)).toBe(false);
  expect(isServicesDue(asked, at + servicesEveryMs - 1)).toBe(false);
  expect(isServicesDue(asked, at + servicesEveryMs)).toBe(true);
  expect(isServicesDue(asked, at - 1)).toBe(true);
});
