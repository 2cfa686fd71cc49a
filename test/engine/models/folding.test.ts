import pg from 'pg';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import { StopError, toDatabaseError } from '../../../src/engine/models/database-error.ts';
import { fingerprintOf } from '../../../src/engine/models/engine/fingerprint.ts';
import { foldingOf } from '../../../src/engine/models/engine/folding.ts';
import { nodeFacts } from '../../support/histories/facts.ts';
import { small } from './small-projection.ts';

test('foldingOf refuses a projection of facts that are not in its stream, and a table without a sound key', () => {
  expect(() => foldingOf({ ...small, stream: 'ACTIONS' })).toThrow(/takes SuperNodeListed, which is not in ACTIONS/);
  expect(() => foldingOf({ ...small, table: { ...small.table, key: [] } })).toThrow(/has no key/);
  const table = { ...small.table, key: ['nothing'] };
  expect(() => foldingOf({ ...small, table })).toThrow(/no column nothing/);
});

test('foldingOf refuses a fact that touches a row twice, and one that has no answer', () => {
  const touch = { key: 'a', next: () => null };
  const { touches } = foldingOf({ ...small, on: { ...small.on, SuperNodeRemoved: () => [touch, touch] } });
  expect(() => touches(nodeFacts('a').removed())).toThrow('touches a row more than once');
  const { SuperNodeRemoved: _, ...fewer } = small.on;
  expect(() => foldingOf({ ...small, on: fewer }).touches(nodeFacts('a').removed())).toThrow('no answer');
});

test('foldingOf gives another fingerprint to other tables only', () => {
  const fingerprint = fingerprintOf(foldingOf(small));
  expect(fingerprintOf(foldingOf({ ...small, version: 9 }))).toBe(fingerprint);
  expect(fingerprintOf(foldingOf({ ...small, derivedTables: [] }))).not.toBe(fingerprint);
});

const refused = (code: string) => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code });

test('toDatabaseError tells what passes by itself from what does not', () => {
  for (const code of ['57P01', '57P03', '08006', '53300', '40P01', '55P03', '57014', '25P03', '25P04']) {
    expect(toDatabaseError(refused(code))).toMatchObject({ code: 'UNAVAILABLE' });
  }
  for (const code of ['ECONNREFUSED', 'ENOENT', 'ECONNRESET']) {
    expect(toDatabaseError(Object.assign(new Error('connect'), { code }))).toMatchObject({ code: 'UNAVAILABLE' });
  }
  for (const message of [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ]) {
    expect(toDatabaseError(new Error(message))).toMatchObject({ code: 'UNAVAILABLE' });
  }
  for (const code of ['22P02', '42P01', '23505']) expect(toDatabaseError(refused(code))).toBeInstanceOf(StopError);
  const ours = new AppError('NOT_FOUND', 'nothing');
  const theirs = new RangeError('mine');
  expect([toDatabaseError(ours), toDatabaseError(theirs)]).toEqual([ours, theirs]);
});
