import { expect, onTestFinished, test } from 'vitest';
import { copyInto, copyText } from '../../../../src/engine/models/engine/copy.ts';
import { sendAll } from '../../../../src/engine/models/pool.ts';
import type { Row } from '../../../../src/engine/models/engine/folding.ts';
import type { Table } from '../../../../src/projections/columns.ts';
import { openDatabase } from '../../../engine/models/engine.ts';
import type { Statement } from '../../../../src/kit/shims/pg/batch.ts';

const table: Table = { name: 'copied', columns: { id: 'text', n: 'int8', j: 'jsonb' }, key: ['id'] };

async function connected() {
  const { pools } = await openDatabase();
  const client = await pools.write.connect();
  onTestFinished(() => client.release(true));
  await client.query('create temp table copied (id text primary key, n int8, j jsonb)');
  const copy = (...rows: Row[]): Statement => ({ text: copyInto('pg_temp', table), rows: copyText(table, rows) });
  return { client, copy };
}

test('sendAll writes the rows of a COPY between the statements that it was sent with', async () => {
  const { client, copy } = await connected();
  const hard = { id: 'tab\t line\n back\\slash ü', n: null, j: { text: 'a\\nb\t"', list: [1, null] } };
  const large = Array.from({ length: 5000 }, (_, n) => ({ id: `${n} ${'x'.repeat(100)}`, n, j: [n] }));
  const count: Statement = { text: 'select count(*)::int4 as n from copied' };
  const answers = await sendAll(client, [count, copy(hard), count, copy(...large), count, { text: 'select 7 as n' }]);
  expect(answers.map(({ rows, rowCount }) => rows[0]?.n ?? rowCount)).toEqual([0, 1, 1, 5000, 5001, 7]);
  const { rows } = await client.query('select * from copied where n is null');
  expect(rows).toEqual([hard]);
});

test('sendAll fails as a COPY fails, before its rows or at one of them, and the connection goes on', async () => {
  const { client, copy } = await connected();
  const [a, b] = ['a', 'b'].map((id) => ({ id, n: 1, j: null }));
  if (!a || !b) throw new Error('There are two rows');
  const unknown: Statement = { text: 'copy pg_temp.missing from stdin', rows: copyText(table, [a]) };
  await expect(sendAll(client, [unknown, { text: 'select 1' }])).rejects.toMatchObject({ code: '42P01' });
  const twice = [{ text: 'begin' }, copy(a), copy(b, a), copy(b), { text: 'commit' }];
  await expect(sendAll(client, twice)).rejects.toMatchObject({ code: '23505' });
  const [, count] = await sendAll(client, [copy(b), { text: 'select count(*)::int4 as n from copied' }]);
  expect(count?.rows).toEqual([{ n: 1 }]);
});
