import { Writable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { sendTogether } from '../../../../src/kit/shims/pg/cork.ts';
import { openDatabase } from '../../../engine/models/engine.ts';

test('sendTogether finds the socket of the driver, and lets statements of one turn leave in one piece', async () => {
  const { pools } = await openDatabase();
  const client = await pools.write.connect();
  onTestFinished(() => client.release());
  const stream: unknown = Reflect.get(Reflect.get(client, 'connection'), 'stream');
  if (!(stream instanceof Writable)) throw new Error('The driver keeps its socket elsewhere by now');
  expect(stream.writableCorked).toBe(0);
  sendTogether(client);
  const answers = [client.query('select 1 as n'), client.query('select 2 as n')];
  expect(stream.writableCorked).toBeGreaterThan(0);
  expect((await Promise.all(answers)).map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  expect(stream.writableCorked).toBe(0);
});
