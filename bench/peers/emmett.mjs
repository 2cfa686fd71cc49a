/** emmett on PostgreSQL, as its documentation uses it. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  getPostgreSQLEventStore,
  pongoSingleStreamProjection,
  postgreSQLEventStoreConsumer,
  rebuildPostgreSQLProjections,
} from '@event-driven-io/emmett-postgresql';
import pg from 'pg';
import { percentile } from '../rounds.ts';
import { writeAll } from '../writers.ts';
import { perSecond, serve } from './driver.mjs';

const pollMs = 2;
let store;
let connectionString;
let pool;
let consumer;
const delays = [];
let samples = 0;
let rebuilt = 0;

/** The read model of the nodes: what the last probe found, and how many there were. */
const nodes = (name) =>
  pongoSingleStreamProjection({
    collectionName: name,
    canHandle: ['ProbeSucceeded', 'ProbeFailed'],
    evolve: (node, { type, data }) => ({
      ...data.known.figures,
      node: data.node,
      available: type === 'ProbeSucceeded',
      probes: (node?.probes ?? 0) + 1,
    }),
  });

await serve(
  {
    open: async ({ config: { host, port, user, database } }) => {
      if (store) return;
      connectionString = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
      store = getPostgreSQLEventStore(connectionString);
      await store.schema.migrate();
      pool = new pg.Pool({ connectionString });
    },
    append: ({ streams, facts, events }) => perSecond(events, () => appendAll({ streams, facts, events })),
    // One after the other: from appends that ran at once, its readers leave some out.
    seed: async ({ streams, facts }) => {
      for (const stream of streams) await store.appendToStream(stream, facts);
    },
    fill: async ({ stream, facts, events }) => {
      const each = 1000;
      for (let from = 0; from < events; from += each)
        await store.appendToStream(
          stream,
          Array.from({ length: Math.min(each, events - from) }, (_, n) => facts[(from + n) % facts.length]),
        );
      return events;
    },
    read: async ({ stream, events }) => {
      let seen = 0;
      const rate = await perSecond(events, async () => {
        seen = (await store.readStream(stream)).events.length;
      });
      if (seen !== events) throw new Error(`${seen} of ${events} events were read`);
      return rate;
    },
    catchUp: async ({ events }) => {
      const name = `caughtup${++rebuilt}`;
      const following = postgreSQLEventStoreConsumer({ connectionString });
      following.projector({ processorId: name, projection: nodes(name) });
      const rate = await perSecond(events, async () => {
        following.start().catch((error) => process.stderr.write(`${error.stack}\n`));
        await untilFollowed(name, events);
      });
      await following.close();
      return rate;
    },
    rebuild: async ({ events }) => {
      // A second one of the same name would go on where the first one ended.
      const name = `rebuilt${++rebuilt}`;
      const rebuilding = rebuildPostgreSQLProjections({
        connectionString,
        pulling: { batchSize: 1000 },
        projections: [nodes(name)],
      });
      const rate = await perSecond(events, () => rebuilding.start());
      await rebuilding.close();
      const { rows } = await pool.query(`select sum((data->>'probes')::int)::int as probes from ${name}`);
      if (rows[0].probes !== events) throw new Error(`${rows[0].probes} of ${events} events are in the read model`);
      return rate;
    },
    follow: async () => {
      consumer = postgreSQLEventStoreConsumer({ connectionString });
      consumer.projector({ processorId: 'followed', projection: nodes('followed') });
      consumer.start().catch((error) => process.stderr.write(`${error.stack}\n`));
      await pause(2000);
    },
    visible: async ({ fact, count }) => {
      for (let n = 0; n < count; n++) delays.push(await untilVisible(fact, `seen ${samples++}`));
      return percentile(delays.slice(-count), 50);
    },
    percentile: ({ percent }) => percentile(delays, percent),
  },
  async () => {
    await consumer?.close();
    await pool?.end();
    await store?.close();
  },
);

function appendAll({ streams, facts, events }) {
  return writeAll({ entities: streams, events, first: 0n }, async (stream, event, expected) => {
    const { type, data } = facts[event % facts.length];
    const options = { expectedStreamVersion: expected === 0n ? 'STREAM_DOES_NOT_EXIST' : expected };
    const fact = { type, data: { ...data, tookMs: event } };
    return (await store.appendToStream(stream, [fact], options)).nextExpectedStreamVersion;
  });
}

/** From the start of the append until the row can be read. */
async function untilVisible(fact, stream) {
  const started = performance.now();
  await store.appendToStream(stream, [fact]);
  for (;;) {
    if (await isVisible(stream)) return performance.now() - started;
    if (performance.now() - started > 30_000) throw new Error('a row did not become visible within 30 s');
    await pause(pollMs);
  }
}

async function untilFollowed(name, events) {
  for (;;) {
    const { rows } = await pool.query(`select to_regclass('${name}') is not null as made`);
    const probes = rows[0].made
      ? (await pool.query(`select sum((data->>'probes')::int)::int as n from ${name}`)).rows[0].n
      : 0;
    if (probes >= events) return;
    await pause(20);
  }
}

/** The consumer makes the table when it first has something to write. */
async function isVisible(stream) {
  const { rows } = await pool.query(`select to_regclass('followed') is not null as made`);
  return rows[0].made && (await pool.query('select from followed where _id = $1', [stream])).rowCount > 0;
}
