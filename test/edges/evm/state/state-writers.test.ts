import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { metaSchema } from '../../../../src/engine/models/engine/generations.ts';
import { openPostgresNodes } from '../../../../src/edges/evm/executor/state/postgres-nodes.ts';
import { migratedDatabase } from '../../../support/programs/migrated-database.ts';

const hash = (digit: number): `0x${string}` => `0x${String(digit).repeat(64)}`;

test.each([
  ['stores a block that another process stores at the same moment', hash(1), undefined],
  ['refuses it where the other one stores a different block', hash(2), 'The state holds another block 0'],
])('%s', { tags: ['S1.evm.verified'] }, async (_, ofOther, refusal) => {
  const { postgres, network } = await migratedDatabase();
  const writer = openPostgresNodes(postgres, network);
  const other = new pg.Client(postgres);
  await other.connect();
  onTestFinished(async () => void (await Promise.all([writer.end(), other.end()])));
  await other.query('begin');
  const row = [Buffer.from(ofOther.slice(2), 'hex'), Buffer.from([7])];
  await other.query(`insert into ${metaSchema(network)}.evm_headers (number, hash, header) values (0, $1, $2)`, row);
  const written = writer
    .put({ nodes: new Map(), header: { number: 0n, hash: hash(1), rlp: new Uint8Array([7]) } })
    .then(() => undefined, String);
  const waiting = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  const fresh = 'select pg_stat_clear_snapshot()';
  const waiters = async () => (await other.query(fresh), (await other.query<{ n: number }>(waiting)).rows[0]?.n);
  await expect.poll(waiters).toBe(1);
  await other.query('commit');
  expect(await written).toEqual(refusal === undefined ? undefined : expect.stringContaining(refusal));
});
