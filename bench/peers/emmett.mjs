/** emmett on PostgreSQL, as its documentation uses it. */
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { perSecond, serve } from './driver.mjs';
import { writeAll } from '../writers.ts';

let store;

await serve(
  {
    open: async ({ config }) => {
      if (store) return;
      const { host, port, user, database } = config;
      store = getPostgreSQLEventStore(
        `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
      );
      await store.schema.migrate();
    },
    append: ({ streams, facts, events }) =>
      perSecond(events, () =>
        writeAll({ entities: streams, events, first: 0n }, async (stream, event, expected) => {
          const { type, data } = facts[event % facts.length];
          const options = { expectedStreamVersion: expected === 0n ? 'STREAM_DOES_NOT_EXIST' : expected };
          const fact = { type, data: { ...data, tookMs: event } };
          return (await store.appendToStream(stream, [fact], options)).nextExpectedStreamVersion;
        }),
      ),
  },
  () => store?.close(),
);
