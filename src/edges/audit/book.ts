import type { StreamName } from '../../events/streams.ts';

/** Runs one statement and gives back its rows. */
export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Events that neither store has any more; `ids` as far as they are known. */
export type Loss = Readonly<{
  stream: StreamName;
  first: number;
  last: number;
  reason: string;
  ids: readonly string[];
}>;

/** How the archive of a stream stands: what the last look found, and what was mended last; times are RFC 3339, null before the first. */
export type Standing = Readonly<{
  stream: StreamName;
  position: number;
  scrubbedAt: string | null;
  findings: readonly string[];
  mendedAt: string | null;
  mended: readonly string[];
}>;

/** What is known of damage, for people and metrics. */
export type Book = Readonly<{
  recordScrub: (stream: StreamName, findings: readonly string[]) => Promise<void>;
  recordMending: (stream: StreamName, done: readonly string[]) => Promise<void>;
  recordLoss: (loss: Loss) => Promise<void>;
  losses: () => Promise<Loss[]>;
  standings: () => Promise<Standing[]>;
}>;

const instant = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Opens the book of a network's archive. */
export function createBook(query: Query, schema: string): Book {
  const heads = `${schema}.archive_heads`;
  return {
    recordScrub: async (stream, findings) => {
      await query(`update ${heads} set scrubbed_at = now(), findings = $2 where stream = $1`, [
        stream,
        JSON.stringify(findings),
      ]);
    },
    recordMending: async (stream, done) => {
      await query(`update ${heads} set mended_at = now(), mended = $2, findings = '[]' where stream = $1`, [
        stream,
        JSON.stringify(done),
      ]);
    },
    recordLoss: async ({ stream, first, last, reason, ids }) => {
      await query(
        `insert into ${schema}.archive_losses (stream, first, last, reason, ids) values ($1, $2, $3, $4, $5)
          on conflict do nothing`,
        [stream, first, last, reason, JSON.stringify(ids)],
      );
    },
    losses: () =>
      query<Loss>(`select stream, first, last, reason, ids from ${schema}.archive_losses order by stream, first`),
    standings: () =>
      query<Standing>(
        `select stream, position, ${instant('scrubbed_at')} as "scrubbedAt", findings, ${instant('mended_at')} as "mendedAt",
          mended from ${heads} order by stream`,
      ),
  };
}
