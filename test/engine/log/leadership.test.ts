import { expect, test } from 'vitest';
import { countLeadership } from '../../../src/engine/log/leadership.ts';

test('countLeadership shows who leads, and keeps nothing of what passes', async () => {
  const { registry, onLease } = countLeadership();
  onLease('sync', true);
  for (const name of ['transfer-abc', 'handshake-a-b'])
    for (const isHeld of [false, true, false]) onLease(name, isHeld);
  const text = await registry.getSingleMetricAsString('annals_lease_held');
  expect(text).toContain('annals_lease_held{lease="sync"} 1');
  expect(text).not.toMatch(/transfer|handshake/);
});
