import { describe, expect, it, onTestFinished } from 'vitest';
import { sendBatch, type Statement } from '../../../../src/kit/shims/pg/batch.ts';
import { openDatabase } from '../../../engine/models/engine.ts';

async function connected() {
  const { pools } = await openDatabase();
  const client = await pools.read.connect();
  onTestFinished(() => client.release(true));
  return {
    pools,
    client,
    settled: async (statements: readonly Statement[]) => await Promise.allSettled(sendBatch(client, statements)),
    rowsOf: async (statements: readonly Statement[]) => await Promise.all(sendBatch(client, statements)),
  };
}

describe('sendBatch', () => {
  it('gives the rows of each statement, numbers, texts, arrays and JSON alike', async () => {
    const { rowsOf } = await connected();
    const values = [null, 'a "b" \\ {c},', 7, true, ['x', null, 'NULL', '"', '\\', '{,}'], [1, null]];
    const text = 'select $1::text as a, $2::text as b, $3::int8 as c, $4::bool as d, $5::text[] as e, $6::int8[] as f';
    const [given, many, none] = await rowsOf([
      { text, values },
      { name: 'many', text: `select n, '{"n":[1]}'::jsonb as j from generate_series(1, $1::int4) n`, values: [3] },
      { text: 'select 1 as a where false' },
    ]);
    expect(given).toEqual([
      {
        a: null,
        b: values[1],
        c: 7,
        d: true,
        e: ['x', null, 'NULL', '"', '\\', '{,}'],
        f: [1, null].map((n) => n && String(n)),
      },
    ]);
    expect(many).toEqual([1, 2, 3].map((n) => ({ n, j: { n: [1] } })));
    expect(none).toEqual([]);
  });

  it('runs all of them in one transaction that sees one instant and writes nothing', async () => {
    const { rowsOf, settled } = await connected();
    const at = { name: 'at', text: 'select now()::text as at, pg_current_snapshot()::text as seen' };
    const [first, second] = await rowsOf([at, at]);
    expect(second).toEqual(first);
    const [third] = await rowsOf([at]);
    expect(third).not.toEqual(first);
    const [refused] = await settled([{ text: 'create table written (a int4)' }]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: '25006' } });
  });

  it('fails the statement at fault and those behind it, and goes on afterwards, with named ones as well', async () => {
    const { rowsOf, settled } = await connected();
    const divide = { name: 'divide', text: 'select 1 / $1::int4 as n' };
    const behind = { name: 'behind', text: 'select 2 as n' };
    const unsound = { name: 'unsound', text: 'select from nowhere at all' };
    for (const fault of [{ ...divide, values: [0] }, unsound, { ...divide, values: ['x'] }]) {
      const [before, at, after] = await settled([{ text: 'select 0 as n' }, fault, behind]);
      expect(before).toEqual({ status: 'fulfilled', value: [{ n: 0 }] });
      expect(at).toMatchObject({ status: 'rejected', reason: { code: expect.stringMatching(/^(22|42)/) } });
      expect(after).toEqual(at);
      expect(await rowsOf([{ ...divide, values: [1] }, behind])).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    }
  });

  it('refuses values that PostgreSQL could not read, and sends nothing', async () => {
    const { client, rowsOf } = await connected();
    expect(() => sendBatch(client, [{ text: 'select $1', values: [{}] }])).toThrow(TypeError);
    expect(await rowsOf([{ text: 'select 1 as n' }])).toEqual([[{ n: 1 }]]);
  });

  it('fails every statement when the connection is lost', async () => {
    const { pools, rowsOf, settled } = await connected();
    const [own] = await rowsOf([{ text: 'select pg_backend_pid() as pid' }]);
    const sleeping = settled([{ text: 'select pg_sleep(30)' }, { text: 'select 1' }]);
    await pools.bulk.query('select pg_terminate_backend($1)', [own?.[0]?.pid]);
    expect(await sleeping).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  });
});
