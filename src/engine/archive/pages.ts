import type { StreamName } from '../../events/streams.ts';
import type { RunQuery } from '../models/pool.ts';
import type { Link } from './chain.ts';

const columns = `sequence, subject, id, stored_nanos::text as "storedNanos", body, previous, hash`;

/** Bytes of bodies that one page has at most, beyond its last link. */
const maxPageBytes = 16 * 1024 * 1024;

/** Links in their order; `isEnd` where the archive holds none behind them. */
export type LinkPage = Readonly<{ links: readonly Link[]; isEnd: boolean }>;

/** Reads of the archive in a schema. */
export function reading(query: RunQuery, schema: string) {
  return {
    /** Links after a sequence, in their order: at most `limit`, and at most as many bytes as a reader should hold. */
    read: async (stream: StreamName, after: number, limit: number): Promise<LinkPage> => {
      const rows = await query<Link & { read: number }>(
        `select ${columns}, read::int4 from (select *, count(*) over () as read,
            sum(octet_length(body)::int8) over (order by sequence) - octet_length(body) as before
          from (select * from ${schema}.archive where stream = $1 and sequence > $2 order by sequence limit $3) as next
        ) as page where before < $4 order by sequence`,
        [stream, after, limit, maxPageBytes],
      );
      const read = rows[0]?.read ?? 0;
      return { links: rows.map(linkOf), isEnd: read < limit && rows.length === read };
    },
    /** The last link before a sequence. */
    before: async (stream: StreamName, sequence: number): Promise<Link | undefined> =>
      (
        await query<Link>(
          `select ${columns} from ${schema}.archive where stream = $1 and sequence < $2 order by sequence desc limit 1`,
          [stream, sequence],
        )
      )[0],
    /** How many events are archived of a stream. */
    count: async (stream: StreamName): Promise<number> => {
      const text = `select count(*) as found from ${schema}.archive where stream = $1`;
      return (await query<{ found: number }>(text, [stream]))[0]?.found ?? 0;
    },
  };
}

function linkOf({ sequence, subject, id, storedNanos, body, previous, hash }: Link): Link {
  return { sequence, subject, id, storedNanos, body, previous, hash };
}
