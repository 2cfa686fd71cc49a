import { expect, test } from 'vitest';
import { columnsOf, defineTable, json, nullable, type RowOf } from '../../src/projections/columns.ts';
import { defineProjection, ignoring, type Projection } from '../../src/projections/projection.ts';

const table = defineTable({
  name: 'nodes',
  columns: { id: 'text', height: nullable('int8'), tags: json<readonly string[]>() },
  key: ['id'],
});
const tags = defineTable({ name: 'tags', columns: { id: 'text', tag: 'text' }, key: ['id', 'tag'] });

const row = (id: string): RowOf<typeof table> => ({ id, height: null, tags: [] });
const common = { name: 'supernodes', version: 1, stream: 'NODES', table, derivedTables: [tags] } as const;
const answers: Projection<typeof table, typeof tags, 'NODES'>['on'] = {
  SuperNodeListed: ({ node }) => [{ key: node, next: () => row(node) }],
  SuperNodeChanged: 'ignored',
  SuperNodeRemoved: ({ node }) => [{ key: node, next: () => null }],
  ...ignoring('validator'),
};

test('a projection answers for every fact of its stream, and fills every column', () => {
  const { SuperNodeChanged: _, ...fewer } = answers;
  const given = [
    defineProjection({
      ...common,
      on: answers,
      derived: () => [{ table: 'tags' as const, values: { id: 'a', tag: 'b' } }],
    }),
    // @ts-expect-error a fact of the stream has no answer
    defineProjection({ ...common, on: fewer }),
    defineProjection({
      ...common,
      on: {
        ...answers,
        // @ts-expect-error a column is forgotten
        SuperNodeChanged: ({ node }) => [{ key: node, next: () => ({ id: node, height: null }) }],
      },
    }),
    defineProjection({
      ...common,
      on: {
        ...answers,
        // @ts-expect-error a cell holds what its column does not
        SuperNodeChanged: ({ node }) => [{ key: node, next: () => ({ ...row(node), height: '1' }) }],
      },
    }),
    // @ts-expect-error a column of a derived row is forgotten
    defineProjection({ ...common, on: answers, derived: () => [{ table: 'tags' as const, values: { id: 'a' } }] }),
    defineProjection({
      ...common,
      on: answers,
      // @ts-expect-error a derived row is of no table of the projection
      derived: () => [{ table: 'words' as const, values: { id: 'a', tag: 'b' } }],
    }),
  ];
  expect(given.map(({ version }) => version)).toEqual([1, 1, 1, 1, 1, 1]);
  // @ts-expect-error a key that is no column
  expect(defineTable({ ...table, key: ['number'] }).key).toEqual(['number']);
});

test('ignoring answers all facts of a kind', () => {
  expect(ignoring('validator')).toEqual({
    ValidatorListed: 'ignored',
    ValidatorChanged: 'ignored',
    ValidatorRemoved: 'ignored',
  });
});

test('columnsOf lists every column of a table', () => {
  const { id, height } = table.columns;
  expect([id, height]).toEqual(['text', 'int8']);
  expect(JSON.stringify(columnsOf(table, 't', { id: 'left out' }).toOperationNode())).toMatch(/height.*tags/);
});
