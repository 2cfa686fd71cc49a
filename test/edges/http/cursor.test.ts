import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCursors } from '../../../src/edges/http/cursor.ts';
import { actionFacts } from '../../support/histories/facts.ts';
import { idsOf, startRest, walk } from '../indexer/rest/rest-server.ts';

const cursors = createCursors('a key of at least sixteen characters');
const walkOf = (filters: Record<string, unknown> = {}) => ({ list: 'actions', filters });
const place = { after: '12345678901234567890', pages: 7 };

describe('createCursors', () => {
  it('opens what it sealed, on every replica that has the key', { tags: ['S2.open.cursor'] }, () => {
    const sealed = cursors.seal(walkOf({ type: 'sense', creator: undefined }), place);
    expect(sealed).toMatch(/^[\w-]+$/);
    expect(createCursors('a key of at least sixteen characters').open(walkOf({ type: 'sense' }), sealed)).toEqual(
      place,
    );
    expect(cursors.seal(walkOf({ type: 'sense' }), place)).toBe(sealed);
  });

  it('tells nothing of its content', { tags: ['S2.open.cursor'] }, () => {
    expect(Buffer.from(cursors.seal(walkOf(), place), 'base64url').toString('latin1')).not.toContain(place.after);
  });

  it('refuses other filters, another list and another key', { tags: ['S2.open.cursor'] }, () => {
    const sealed = cursors.seal(walkOf({ type: 'sense' }), place);
    const others = [
      walkOf(),
      walkOf({ type: 'cascade' }),
      walkOf({ type: 'sense', state: 'approved' }),
      { list: 'supernodes', filters: { type: 'sense' } },
    ];
    for (const other of others) expect(() => cursors.open(other, sealed)).toThrow(/cursor/);
    expect(() => createCursors('another key, long enough').open(walkOf({ type: 'sense' }), sealed)).toThrow(/cursor/);
  });

  it('refuses whatever is changed in it, and whatever it never made', { tags: ['S2.open.cursor'] }, () => {
    const bytes = Buffer.from(cursors.seal(walkOf(), place), 'base64url');
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        expect(() => cursors.open(walkOf(), changed.toString('base64url'))).toThrow(/cursor/);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 120 }), (text) => {
        expect(() => cursors.open(walkOf(), text)).toThrow(/cursor/);
      }),
    );
    expect(() => cursors.open(walkOf(), bytes.subarray(0, -1).toString('base64url'))).toThrow(/cursor/);
  });
});

describe('walking a list', () => {
  it(
    'shows each action that was there at the start exactly once while others are added',
    { tags: ['S2.open.cursor', 'S2.actions.cursor'] },
    async () => {
      const registered = (ids: readonly number[]) => ids.map((id) => actionFacts(String(id)).registered());
      const before = Array.from({ length: 30 }, (_, at) => at + 1);
      let servers = [await startRest(registered(before))];
      let added = 30;
      const current = () => {
        const server = servers.at(-1);
        if (!server) throw new Error('One server always runs');
        return server;
      };
      const rest = { ...current(), get: async (path: string) => await current().get(path) };
      const pages = await walk(rest, '/v1/actions?limit=7', async () => {
        added += 5;
        servers = [...servers, await startRest(registered(Array.from({ length: added }, (_, at) => at + 1)))];
      });
      await Promise.all(servers.map(async (server) => await server.close()));
      const seen = pages.flatMap(({ body }) => idsOf(body.actions)).map(Number);
      expect(seen).toEqual(before.toReversed());
      expect(pages.map(({ body }) => body.total)).toEqual([30, 35, 40, 45, 50]);
    },
  );
});
