import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { startServingThread, type ThreadServing } from '../../../src/edges/evm/workers/serving.ts';
import { type Broker, openBroker } from '../../../src/engine/log/broker.ts';
import { damageOf, isDamage } from '../../../src/engine/models/database-error.ts';
import { metaSchema } from '../../../src/engine/models/engine/generations.ts';
import { until } from '../../support/polling.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';

const network = freshNetwork();
const meta = metaSchema(network);
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
const damages: Error[] = [];
let broker: Broker;
let served: ThreadServing;

/** The read models are on a page that cannot be read. */
const damaged = `create schema ${meta};
  create function ${meta}.page() returns table (projection text, version int4, schema_name text, stream text,
    incarnation text, "position" int8, status text) language plpgsql as
    $$ begin raise exception 'invalid page in block 7' using errcode = 'XX001'; end $$;
  create view ${meta}.generations as select * from ${meta}.page();`;

beforeAll(async () => {
  const postgres = await freshDatabase();
  const client = new pg.Client(postgres);
  await client.connect();
  await client.query(damaged);
  await client.end();
  broker = await openBroker(testNats(), { network, wanted: 'unknown' });
  const config = networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts: {} });
  const input = {
    host: '127.0.0.1',
    httpPort: 0,
    wsPort: 0,
    namespaces: ['eth'] as const,
    callTimeoutMs: 1_000,
    readThreads: 1,
    gasCap: 1n,
    version: '0.0.0',
    nats: testNats(),
    access: { postgres, network, config },
    log: { level: 'error', format: 'json' } as const,
  };
  const onDamage = (damage: Parameters<typeof damageOf>[0]): void => void damages.push(damageOf(damage));
  const { signal } = new AbortController();
  served = await startServingThread().serve(input, { onAppendRefused: () => undefined, onDamage, signal });
});
afterAll(async () => {
  await served.stop();
  await expect(fetch(served.url, { method: 'POST', body })).rejects.toThrow('fetch failed');
  await broker.close();
});

/** Sends the request once the second cell is set, and sets the first one: 1 for the answer, 2 for none. */
const asker = `const { workerData: { url, body, cells }, parentPort } = require('node:worker_threads');
  const set = (value) => { Atomics.store(cells, 0, value); Atomics.notify(cells, 0); };
  parentPort.postMessage('ready');
  Atomics.wait(cells, 1, 0);
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    .then((answer) => answer.json()).then(({ result }) => set(result === '0x494c1a9' ? 1 : 2), () => set(2));`;

test(
  'JSON-RPC answers while the thread that started it does nothing but work',
  { tags: ['S1.evm.heads'] },
  async () => {
    const cells = new Int32Array(new SharedArrayBuffer(8));
    const worker = new Worker(asker, { eval: true, workerData: { url: served.url, body, cells } });
    await once(worker, 'message');
    Atomics.store(cells, 1, 1);
    Atomics.notify(cells, 1);
    // Nothing else runs in this thread until the answer has come.
    expect(Atomics.wait(cells, 0, 0, 60_000)).not.toBe('timed-out');
    expect(cells[0]).toBe(1);
    await worker.terminate();
  },
);

test('damage that it meets in the database is reported to the program', async () => {
  const [damage] = await until('it is reported', () => (damages.length > 0 ? damages : undefined));
  expect(isDamage(damage)).toBe(true);
  expect(damage).toMatchObject({ message: 'invalid page in block 7' });
});
