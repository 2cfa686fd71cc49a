import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalRow, canonicalSql } from '../../../src/engine/models/engine/checksum.ts';
import { cleanRow, type Row } from '../../../src/engine/models/engine/folding.ts';
import { copyRows } from '../../../src/engine/models/engine/copy.ts';
import { withClient } from '../../../src/engine/models/pool.ts';
import type { Table } from '../../../src/projections/columns.ts';
import { typeOf } from '../../../src/engine/models/column-types.ts';
import { openDatabase } from './engine.ts';

const table: Table = {
  name: 'cells',
  columns: {
    n: 'int4',
    words: 'text',
    amount: 'numeric',
    big: 'int8',
    ratio: 'float8',
    is_so: 'bool',
    json: 'jsonb',
    bytes: 'bytea',
    wei: 'uint256',
  },
  key: ['n'],
};
const columns = Object.entries(table.columns);

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\t', '\n', '\r', '\\', '"', '\0', '\u001f', ' ', 'ü', '😀'),
    fc.string({ maxLength: 1 }),
  ),
});
const json = fc.jsonValue({ stringUnit: 'grapheme' });
const rows = fc.array(
  fc.record({
    words: fc.option(text),
    amount: fc.option(fc.constantFrom('0', '-0.00', '007', '1.50', '-12.250', '99999999999999999999999.1')),
    big: fc.option(fc.maxSafeInteger()),
    ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    is_so: fc.option(fc.boolean()),
    bytes: fc.option(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const),
    ),
    wei: fc.option(fc.bigInt(0n, 2n ** 256n - 1n).map(String)),
    // A JSON null is the null of the column.
    json: fc.option(json.filter((value) => value !== null)),
  }),
  { minLength: 1, maxLength: 20 },
);

test('canonicalRow of what is copied into a table is what PostgreSQL makes of what is stored', async () => {
  const { pools, network } = await openDatabase();
  const schema = `annals_${network}`;
  const defined = columns.map(([name, type]) => `${name} ${typeOf(type).sql}`).join(', ');
  await pools.bulk.query(`create table ${schema}.cells (${defined})`);
  await fc.assert(
    fc.asyncProperty(rows, async (cells) => {
      const given = cells.map((row, n): Row => cleanRow({ n, ...(row as Row) }, undefined));
      await withClient(pools.load, async (client) => {
        await client.query(`truncate ${schema}.cells`);
        await copyRows(client, schema, { table, rows: given });
      });
      const { rows: stored } = await pools.read.query<{ text: string }>(
        `select ${canonicalSql(columns)} as text from ${schema}.cells order by n`,
      );
      expect(stored.map((row) => row.text)).toEqual(given.map((row) => canonicalRow(columns, row)));
    }),
    { numRuns: 60 },
  );
});
