import fc from 'fast-check';
import type { Fact } from '../../../src/events/catalogue.ts';
import { defineTable, json, nullable } from '../../../src/projections/columns.ts';
import { type Count, defineProjection, ignoring } from '../../../src/projections/projection.ts';
import { nodeFacts, validatorFacts } from '../../support/histories/facts.ts';

/** A projection with a column of every kind, derived rows and counters, which takes its facts in any order. */
export const small = defineProjection({
  name: 'supernodes',
  version: 1,
  stream: 'NODES',
  table: defineTable({
    name: 'nodes',
    columns: {
      id: 'text',
      touched: 'int8',
      account: nullable('text'),
      weight: 'numeric',
      score: 'float8',
      odd: 'bool',
      notes: json<readonly string[]>(),
      last: nullable(json<Readonly<Record<string, string>>>()),
    },
    key: ['id'],
    indexes: ['account, id'],
    past: { covered: ['account'] },
  }),
  derivedTables: [
    defineTable({ name: 'notes', columns: { id: 'text', note: 'text', times: 'int4' }, key: ['id', 'note'] }),
  ],
  on: {
    SuperNodeListed: ({ node, record }) => [
      {
        key: node,
        next: (row) => ({
          id: node,
          touched: (row?.touched ?? 0) + 1,
          account: record.account || null,
          weight: `${(row?.touched ?? 0) + 1}${'0'.repeat(20)}.50`,
          score: (row?.score ?? 0) + 0.1,
          odd: (row?.touched ?? 0) % 2 === 0,
          notes: [...(row?.notes ?? []), record.note].slice(-4),
          last: record.note === '' ? null : { note: record.note },
        }),
      },
    ],
    SuperNodeChanged: ({ node, record }) => [
      {
        key: node,
        next: (row) => (row ? { ...row, account: record.account || null, touched: row.touched + 1 } : null),
      },
    ],
    SuperNodeRemoved: ({ node }) => [{ key: node, next: () => null }],
    ...ignoring('validator'),
  },
  derived: ({ id, notes }) =>
    [...new Set(notes)].map((note) => ({
      table: 'notes' as const,
      values: { id, note, times: notes.filter((one) => one === note).length },
    })),
  counters: [
    {
      table: {
        name: 'counters',
        columns: { of: 'text', name: 'text', n: 'int8', size: 'numeric' },
        key: ['of', 'name'],
      },
      counts: ({ account, touched, notes }) => [
        count('nodes', '', touched),
        count('account', account ?? 'none', touched),
        ...notes.map((note) => count('note', note, 0)),
      ],
    },
  ],
});

/** One more, and more than a double holds exactly. */
const count = (of: string, name: string, times: number): Count => ({
  of,
  name,
  n: 1,
  size: String(BigInt(times) * (10n ** 20n + 1n)),
});

const ids = fc.constantFrom('a', 'b', 'c', 'd"\\{},', 'e ü');
const notes = fc.constantFrom('', 'x', 'y', 'null', 'z\0z', 'half \ud800', '{"j":"\\u0000"}');
const accounts = fc.constantFrom('', 'lumera1p', 'lumera1q');

/**
 * Facts of a few nodes that meet often, with texts that are hard to store, and facts that the projection passes over.
 */
export const factsOfNodes: fc.Arbitrary<Fact> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(ids, notes, accounts).map(([id, note, account]) => nodeFacts(id).listed({ note, account })),
  },
  { weight: 2, arbitrary: fc.tuple(ids, accounts).map(([id, account]) => nodeFacts(id).changed({ account })) },
  { weight: 2, arbitrary: ids.map((id) => nodeFacts(id).removed()) },
  { weight: 1, arbitrary: ids.map((id) => validatorFacts(id).listed()) },
);
