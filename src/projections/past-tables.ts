import type { Table } from './columns.ts';

/**
 * The table of the superseded rows of a main table: each row as it was from the fact at `position` on, until the fact
 * at `until` replaced or removed it.
 *
 * Rows are only ever inserted, one for each fact that replaces one, so the table does not depend on how facts are cut
 * into batches. `level` is the length in bits of how many positions the row lived: the rows of a level that were there
 * at a position ended less than `2^level` later, so an index by level and end finds them without reading many others.
 */
export function pastOf(table: Table): Table | undefined {
  const { name, columns, generated, key, past } = table;
  if (!past) return undefined;
  return {
    name: `${name}_past`,
    columns: { ...columns, position: 'int8', until: 'int8' },
    generated: {
      ...generated,
      level: { type: 'int2', as: `length(ltrim((("until" - "position")::bit(64))::text, '0'))` },
    },
    key: [...key, 'position'],
    indexes: [{ columns: 'level, until', covered: ['position', ...(past.covered ?? [])].join(', ') }],
  };
}

/** So many positions have one mark. */
export const positionsPerMark = 1024;

/** The least and the greatest key whose first fact lies in a block of positions. */
export type MarkRow = Readonly<{ block: number; least: string; greatest: string }>;

/** The table of the marks of a main table; its key is one whole number. */
export function marksOf({ name, columns, key, past }: Table): Table | undefined {
  const [first = ''] = key;
  if (past?.marks !== true) return undefined;
  return {
    name: `${name}_marks`,
    columns: { block: 'int8', least: columns[first] ?? 'numeric', greatest: columns[first] ?? 'numeric' },
    key: ['block'],
  };
}
