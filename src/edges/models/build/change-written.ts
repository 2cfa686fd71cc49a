import type pg from 'pg';
import { checkCommitted } from '../engine/apply.ts';
import type { BulkFold } from './bulk-fold.ts';
import { createConsequences, fold } from '../engine/fold.ts';
import type { Folding } from '../engine/folding.ts';
import { send } from '../pool.ts';
import type { Kept } from '../engine/stored-tables.ts';
import { createWriter } from '../engine/write.ts';

/** Facts of rows that were written before, and the counters that are not. */
export type Late = Readonly<{
  client: pg.ClientBase;
  folding: Folding;
  schema: string;
  late: ReturnType<BulkFold['late']>;
  sums: BulkFold['counters'];
}>;

/** Brings written rows forward as a live batch does, but for counters, which are added up in memory. */
export async function changeWritten({ client, folding, schema, late, sums }: Late): Promise<void> {
  const writer = createWriter(folding, schema);
  const keys = [...new Set(late.map(({ key }) => key))];
  await client.query(
    'begin; set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off',
  );
  const { rows } = await send(client, writer.select(keys));
  const before: ReadonlyMap<string, Kept> = writer.kept(rows);
  const changed = fold(folding, late, before);
  const following = createConsequences(folding, before);
  following.add(changed);
  const { counters: changes, ...others } = following.all();
  const statements = [...writer.rows(changed, before), ...writer.consequences({ ...others, counters: new Map() })];
  for (const statement of statements) await send(client, statement);
  for (const [table, added] of changes) sums.add(table, added);
  checkCommitted(await client.query('commit'));
}
