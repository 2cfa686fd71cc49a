import { describe, expect, test } from 'vitest';
import { banning, type RecordBan } from '../../../src/commands/node/bans.ts';
import { type RecordFile, storing } from '../../../src/commands/node/files.ts';

const at = '2026-11-23T07:30:00.000Z';
const file = { file: 'node/7', node: 'node', action: '7', at };
const pair = { pair: 'node/peer', node: 'node', peer: 'peer', at };
const held = { bytes: '10', pieces: 1 };
const ban = { count: 2, since: at, address: '127.0.1.2:4445' };

/** The facts of one report after another, each decided on what the one before left. */
function typesOf(reports: readonly RecordFile['held'][]): string[] {
  let state = storing.initialState;
  return reports.flatMap((one) => {
    const facts = storing.decide({ ...file, held: one }, state);
    const last = facts.at(-1);
    if (last) state = storing.after(last);
    return facts.map(({ type }) => type);
  });
}

describe('a file at a node', () => {
  test('is stored once, lost once, and repaired when it is there again', { tags: ['S1.facts'] }, () => {
    expect(typesOf([held, held, undefined, undefined, held, held])).toEqual(['FileStored', 'FileLost', 'FileRepaired']);
  });

  test('is told anew when it is another', () => {
    expect(typesOf([held, { bytes: '11', pieces: 1 }])).toEqual(['FileStored', 'FileStored']);
  });

  test('is no news when it never was there', () => {
    expect(typesOf([undefined])).toEqual([]);
  });
});

test('a peer is banned each time that it misbehaves, and released once', { tags: ['S1.facts'] }, () => {
  let state = banning.initialState;
  const reports: RecordBan['ban'][] = [undefined, ban, ban, { ...ban, count: 3 }, undefined, undefined];
  const types = reports.flatMap((one) => {
    const facts = banning.decide({ ...pair, ban: one }, state);
    const last = facts.at(-1);
    if (last) state = banning.after(last);
    return facts.map(({ type }) => type);
  });
  expect(types).toEqual(['PeerBanned', 'PeerBanned', 'PeerReleased']);
});
