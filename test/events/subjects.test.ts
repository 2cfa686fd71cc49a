import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entityIn } from '../../src/engine/log/scan.ts';
import { subjectOf } from '../../src/events/catalogue.ts';
import { streamTable, subjectsOf } from '../../src/events/streams.ts';
import { parseNetwork } from '../../src/events/ids.ts';

test('subjectOf makes one token of any entity, which entityIn reads again', () => {
  expect(subjectOf('action', 'local', '7')).toBe('evt.action.local.7');
  expect(subjectOf('node', 'main', 'a.b *>%')).toBe('evt.node.main.a%2Eb%20%2A%3E%25');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (entity) => {
      const subject = subjectOf('probe', 'main', entity);
      expect(subject.split('.')).toHaveLength(4);
      expect(subject).not.toMatch(/[*>\s]/);
      expect(entityIn(subject)).toBe(entity);
    }),
  );
});

test('subjectsOf names one pattern for each kind of a stream', () => {
  expect(subjectsOf(streamTable.NODES, 'main')).toEqual(['evt.node.main.*', 'evt.validator.main.*']);
});

test('parseNetwork takes what fits into every name', () => {
  expect(['main', 'a_1', 'x'.repeat(31)].map(parseNetwork)).toEqual(['main', 'a_1', 'x'.repeat(31)]);
  expect(['', 'Main', '1a', 'a-b', 'a.b', 'x'.repeat(32)].map(parseNetwork)).toEqual(Array(6).fill(undefined));
});
