import type { StreamName } from '../../events/streams.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { type Pools, withClient } from '../models/pool.ts';
import type pg from 'pg';

/** Runs one statement and gives back its rows. */
export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Runs statements on connections of a pool. */
export function throughPool(pool: pg.Pool): Query {
  return async (text, values = []) => withClient(pool, async (client) => (await client.query(text, values)).rows);
}

/** Events that neither store has any more; `ids` as far as they are known. */
export type Loss = Readonly<{
  stream: StreamName;
  first: number;
  last: number;
  reason: string;
  ids: readonly string[];
}>;

/**
 * How the archive of a stream stands: what the last comparison found, and what was repaired last; times are RFC 3339,
 * null before the first.
 */
export type Standing = Readonly<{
  stream: StreamName;
  position: number;
  scrubbedAt: string | null;
  /** When it was last compared, or else when its first event was stored; null while it holds none. */
  uncomparedSince: string | null;
  findings: readonly string[];
  repairedAt: string | null;
  repaired: readonly string[];
}>;

/** What is known of damage, for people and metrics. */
export type Standings = Readonly<{
  recordScrub: (stream: StreamName, findings: readonly string[]) => Promise<void>;
  recordRepair: (stream: StreamName, done: readonly string[]) => Promise<void>;
  /** Notes that a stream should be compared at once, and why. */
  suspect: (stream: StreamName, why: string) => Promise<void>;
  /** Notes that a stream was restored without an operator. */
  recordRestoration: (stream: StreamName) => Promise<void>;
  recordLoss: (loss: Loss) => Promise<void>;
  losses: () => Promise<Loss[]>;
  standings: () => Promise<Standing[]>;
}>;

const instant = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Opens what is known of a network's archive. */
export function createStandings(query: Query, schema: string): Standings {
  const heads = `${schema}.archive_heads`;
  return {
    recordScrub: async (stream, findings) => {
      await query(`update ${heads} set scrubbed_at = now(), suspicion = null, findings = $2 where stream = $1`, [
        stream,
        JSON.stringify(findings),
      ]);
    },
    recordRepair: async (stream, done) => {
      await query(`update ${heads} set mended_at = now(), mended = $2, findings = '[]' where stream = $1`, [
        stream,
        JSON.stringify(done),
      ]);
    },
    suspect: async (stream, why) => {
      await query(`update ${heads} set suspicion = $2 where stream = $1 and suspicion is distinct from $2`, [
        stream,
        why,
      ]);
    },
    recordRestoration: async (stream) => {
      await query(`update ${heads} set restored_at = now() where stream = $1`, [stream]);
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
        `select stream, position, ${instant('scrubbed_at')} as "scrubbedAt", findings, ${instant('mended_at')} as "repairedAt",
          mended as repaired, ${instant('coalesce(scrubbed_at, first_stored)')} as "uncomparedSince"
          from ${heads} as heads left join lateral (
            select to_timestamp(stored_nanos / 1e9) as first_stored from ${schema}.archive
            where stream = heads.stream order by sequence limit 1
          ) as oldest on true order by stream`,
      ),
  };
}

/** How the archive of each stream stands, and what neither store has any more. */
export type ArchiveState = Readonly<{ standings: readonly Standing[]; losses: readonly Loss[] }>;

/** Tells how the archive of each stream stands, and what neither store has any more. */
export function archiveStateOf(pools: Pools, network: string): () => Promise<ArchiveState> {
  const known = createStandings(throughPool(pools.archive), metaSchema(network));
  return async () => {
    const [standings, losses] = await Promise.all([known.standings(), known.losses()]);
    return { standings, losses };
  };
}

const justNowMs = 10 * 60_000;

/** What stands in the way of trusting the stores: damage that was found, what was repaired lately, what is lost. */
export function archiveFindings(
  { standings, losses }: ArchiveState,
  now: number,
): Readonly<{ component: string; message: string }>[] {
  return [
    ...standings.flatMap(({ stream, findings }) =>
      findings.map((message) => ({ component: `archive ${stream}`, message })),
    ),
    ...standings
      .filter(({ repairedAt }) => repairedAt !== null && now - Date.parse(repairedAt) < justNowMs)
      .map(({ stream, repairedAt, repaired }) => ({
        component: `archive ${stream}`,
        message: `Repaired at ${repairedAt}: ${repaired.join(' ').slice(0, 1000)}`,
      })),
    ...losses.map(({ stream, first, last, reason, ids }) => ({
      component: `archive ${stream}`,
      message: `Events ${first} to ${last} are lost: ${reason}${ids.length > 0 ? ` (${ids.slice(0, 10).join(', ')})` : ''}.`,
    })),
  ];
}
