import pLimit from 'p-limit';
import type { StreamName } from '../../events/streams.ts';
import { wait } from '../../kit/wait.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { type Pools, type RunQuery, throughPool, withClient } from '../models/pool.ts';
import { beginning, type Link } from './chain.ts';
import { reading } from './pages.ts';
import type { Growth } from './proof/growth.ts';
import { createTrees, growing, runParameters, runsOf, type Trees } from './proof/trees.ts';
import { createRetention, type Retention } from './retention.ts';

/** How far the archive holds a stream: its last link, and how many leaders wrote it; only the last one may. */
export type ArchiveHead = Readonly<{
  stream: StreamName;
  incarnation: string;
  position: number;
  hash: Uint8Array;
  epoch: number;
  /** The furthest that a read model has followed this incarnation of the stream. */
  followed: number;
  /** How many events are known to be lost. */
  lost: number;
  /** How many of its events the stream's tree has: as many as its position, once the tree was filled. */
  leaves: number;
  /** Why the stream should be compared at once; null where nothing is suspected. */
  suspicion: string | null;
  /** How long ago the stream was last restored without an operator; null where it never was. */
  restoredMsAgo: number | null;
}>;

/** The archive's tables of one network. */
export type ArchiveStore = ReturnType<typeof reading> &
  ReturnType<typeof writing> &
  Standings &
  Retention &
  Readonly<{ trees: Trees; pools: Pools; head: ReturnType<typeof headIn> }>;

/** Opens the archive of a network; its tables are there already (`migrate`). */
export function createArchiveStore(pools: Pools, network: string): ArchiveStore {
  const schema = metaSchema(network);
  const query = throughPool(pools.archive);
  return {
    pools,
    head: headIn(throughPool(pools.archive), schema),
    ...reading(query, schema),
    ...writing(query, pools, schema),
    ...createStandings(query, schema),
    ...createRetention(query, schema),
    trees: createTrees(query, schema),
  };
}

/**
 * The heads of all streams are read each second, all at once: one after the other they use one connection, and no more.
 */
function headIn(query: RunQuery, schema: string) {
  const oneAtATime = pLimit(1);
  const text = `select ${headColumns(schema)} from ${schema}.archive_heads as had where stream = $1`;
  /** Undefined where nothing of the stream was ever archived. */
  return async (stream: StreamName): Promise<ArchiveHead | undefined> =>
    (await oneAtATime(() => query<ArchiveHead>(text, [stream])))[0];
}

function writing(query: RunQuery, pools: Pools, schema: string) {
  return {
    /**
     * Takes the stream over: every earlier leader is refused from now on.
     *
     * An archive that holds nothing yet becomes that of `incarnation`, where one is named.
     */
    lead: async (stream: StreamName, incarnation?: string): Promise<ArchiveHead> => {
      const [head] = await query<ArchiveHead>(
        `insert into ${schema}.archive_heads as had (stream, incarnation, hash, epoch)
          values ($1, coalesce($2, ''), $3, 1)
          on conflict (stream) do update set epoch = had.epoch + 1,
            incarnation = case when had.position = 0 then coalesce($2, had.incarnation) else had.incarnation end
          returning ${headColumns(schema)}`,
        [stream, incarnation, beginning],
      );
      if (!head) throw new Error(`The archive of ${stream} has no head`);
      return head;
    },
    /**
     * Adds links at the end, and what they add to the stream's tree, or nothing at all: false when another process
     * leads or the end has advanced.
     */
    extend: (head: ArchiveHead, links: readonly Link[], growth?: Growth): Promise<boolean> =>
      extend(pools, schema, { head, links, growth }),
    /** Replaces the links of the same sequences. */
    replace: async (stream: StreamName, links: readonly Link[]): Promise<void> => {
      await query(
        `insert into ${schema}.archive (stream, sequence, subject, id, stored_nanos, body, previous, hash)
          ${input} on conflict (stream, sequence) do update set subject = excluded.subject, id = excluded.id,
            stored_nanos = excluded.stored_nanos, body = excluded.body, previous = excluded.previous, hash = excluded.hash`,
        parameters(stream, links),
      );
    },
    /** Moves the end without adding anything: after a repair changed the last hash, or the stream's incarnation. */
    moveHead: async (to: Pick<ArchiveHead, 'stream' | 'position' | 'hash' | 'incarnation'>): Promise<void> => {
      await query(
        `update ${schema}.archive_heads set position = $2, hash = $3, incarnation = $4, epoch = epoch + 1 where stream = $1`,
        [to.stream, to.position, to.hash, to.incarnation],
      );
    },
    /**
     * One at a time over all processes: `work` repairs a stream. A waiting process holds no connection, for the work
     * needs some.
     */
    alone: async <T>(work: () => Promise<T>): Promise<T> => {
      for (;;) {
        const done = await aloneNow(pools, schema, work);
        if (done) return done.result;
        await wait(requestAgainMs);
      }
    },
  };
}

const requestAgainMs = 200;

async function aloneNow<T>(pools: Pools, schema: string, work: () => Promise<T>): Promise<{ result: T } | undefined> {
  return withClient(pools.archive, async (client) => {
    const { rows } = await client.query<{ is_ours: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 3)) as is_ours',
      [schema],
    );
    if (rows[0]?.is_ours !== true) return undefined;
    try {
      return { result: await work() };
    } finally {
      await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
    }
  });
}

const headColumns = (schema: string): string => `stream, incarnation, position, hash, epoch,
  coalesce((select max(position) from ${schema}.generations as one where one.stream = had.stream
    and one.incarnation = had.incarnation and status = 'live'), 0) as followed,
  leaves, coalesce((select sum(last - first + 1) from ${gapsIn(schema)} where gap.stream = had.stream), 0)::int8 as lost,
  suspicion, (extract(epoch from now() - restored_at) * 1000)::int8 as "restoredMsAgo"`;

const input = `select $1, * from unnest($2::int8[], $3::text[], $4::text[], $5::int8[], $6::bytea[], $7::bytea[], $8::bytea[])`;

function parameters(stream: StreamName, links: readonly Link[]): unknown[] {
  const column = <T>(pick: (link: Link) => T): T[] => links.map(pick);
  return [
    stream,
    column(({ sequence }) => sequence),
    column(({ subject }) => subject),
    column(({ id }) => id),
    column(({ storedNanos }) => storedNanos),
    column(({ body }) => Buffer.from(body)),
    column(({ previous }) => Buffer.from(previous)),
    column(({ hash }) => Buffer.from(hash)),
  ];
}

type Extension = Readonly<{ head: ArchiveHead; links: readonly Link[]; growth: Growth | undefined }>;

/** One statement, so that links, tree and end change together or not at all. */
async function extend(pools: Pools, schema: string, { head, links, growth }: Extension): Promise<boolean> {
  const last = links.at(-1);
  if (!last) return true;
  const { runs, leaves } = growth ? runsOf(growth) : { runs: [], leaves: head.leaves };
  const ends = [last.sequence, Buffer.from(last.hash), head.position, head.epoch, leaves, head.leaves];
  const { joining, adding } = growing(schema, { from: 15, where: 'exists (select from moved)' });
  const { rowCount } = await withClient(pools.archive, (client) =>
    client.query({
      name: `archive.${schema}`,
      text: `with moved as (update ${schema}.archive_heads set position = $9, hash = $10, leaves = $13
          where stream = $1 and position = $11 and epoch = $12 and leaves = $14 returning 1),
        joined as (${joining}), added as (${adding})
        insert into ${schema}.archive (stream, sequence, subject, id, stored_nanos, body, previous, hash)
          ${input} where exists (select from moved)`,
      values: [...parameters(head.stream, links), ...ends, ...runParameters(runs)],
    }),
  );
  return rowCount === links.length;
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
 * The state of a stream's archive: the result of the last comparison, and the last repair; times are RFC 3339, null
 * before the first.
 */
export type Status = Readonly<{
  stream: StreamName;
  position: number;
  scrubbedAt: string | null;
  /** When it was last compared, or else when its first event was stored; null while it holds none. */
  uncomparedSince: string | null;
  findings: readonly string[];
  repairedAt: string | null;
  repaired: readonly string[];
}>;

/** The known damage, for people and metrics. */
export type Standings = Readonly<{
  recordScrub: (stream: StreamName, findings: readonly string[]) => Promise<void>;
  recordRepair: (stream: StreamName, done: readonly string[]) => Promise<void>;
  /** Notes that a stream should be compared at once, and why. */
  suspect: (stream: StreamName, why: string) => Promise<void>;
  /** Notes that a stream was restored without an operator. */
  recordRestoration: (stream: StreamName) => Promise<void>;
  recordLoss: (loss: Loss) => Promise<void>;
  losses: () => Promise<Loss[]>;
  /** Losses of a stream whose sequences stay empty. */
  gaps: (stream: StreamName) => Promise<Loss[]>;
  standings: () => Promise<Status[]>;
}>;

/** How the reason of losses beyond the archive's end starts: new events of the restored stream have their sequences. */
export const wentBack = 'the stream went back before they were archived';

const lossColumns = 'stream, first, last, reason, ids';
const gapsIn = (schema: string): string =>
  `(select * from ${schema}.archive_losses where reason not like '${wentBack}%') as gap`;

const instant = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Opens what is known of a network's archive. */
export function createStandings(query: RunQuery, schema: string): Standings {
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
    losses: () => query<Loss>(`select ${lossColumns} from ${schema}.archive_losses order by stream, first`),
    gaps: (stream) =>
      query<Loss>(`select ${lossColumns} from ${gapsIn(schema)} where stream = $1 order by first`, [stream]),
    standings: () =>
      query<Status>(
        `select stream, position, ${instant('scrubbed_at')} as "scrubbedAt", findings, ${instant('mended_at')} as "repairedAt",
          mended as repaired, ${instant('coalesce(scrubbed_at, first_stored)')} as "uncomparedSince"
          from ${heads} as heads left join lateral (
            select to_timestamp(stored_nanos / 1e9) as first_stored from ${schema}.archive
            where stream = heads.stream order by sequence limit 1
          ) as oldest on true order by stream`,
      ),
  };
}
