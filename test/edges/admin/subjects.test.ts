import { describe, expect, it } from 'vitest';
import { isMatch } from '../../../src/edges/admin/subjects.ts';

describe('isMatch', () => {
  it.each([
    ['evt.>', 'evt.action.local.7', true],
    ['evt.action.>', 'evt.action.local.7', true],
    ['evt.action.*.7', 'evt.action.local.7', true],
    ['evt.action.local.7', 'evt.action.local.70', false],
    ['evt.probe.>', 'evt.action.local.7', false],
    ['evt.action.local', 'evt.action.local.7', false],
    ['evt.action.local.7.>', 'evt.action.local.7', false],
    ['>', 'evt.sync.local.chain', true],
  ])('%s takes %s: %s', (pattern, subject, expected) => {
    expect(isMatch(pattern, subject)).toBe(expected);
  });
});
