import { expect, onTestFinished, test } from 'vitest';
import { processIdOf } from '../../../../src/kit/shims/pg/process-id.ts';
import { openDatabase } from '../../../engine/models/engine.ts';

test('processIdOf gives the id by which the server knows a connection', async () => {
  const { pools } = await openDatabase();
  const client = await pools.write.connect();
  onTestFinished(() => client.release());
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  expect(processIdOf(client)).toBe(rows[0]?.pid);
});
