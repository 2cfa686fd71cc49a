import type pg from 'pg';
import { AppError } from '../../kit/errors.ts';
import { metaSchema } from './engine/generations.ts';
import { type Pools, withClient } from './pool.ts';

/** Steps in their order, each a list of statements; a step that was shipped never changes. */
const steps: readonly (readonly string[])[] = [
  [
    `create table generations (
      projection text collate "C" not null,
      generation int4 not null,
      version int4 not null,
      fingerprint text collate "C" not null,
      schema_name text collate "C" not null,
      status text collate "C" not null check (status in ('building', 'live', 'retired')),
      stream text collate "C" not null,
      incarnation text collate "C" not null,
      position int8 not null default 0,
      epoch int8 not null default 0,
      stopped_at timestamptz,
      stopped_reason text collate "C",
      created_at timestamptz not null default now(),
      switched_at timestamptz,
      retired_at timestamptz,
      primary key (projection, generation)
    ) with (fillfactor = 50)`,
    `create unique index generations_live on generations (projection) where status = 'live'`,
  ],
  [
    `create table archive (
      stream text collate "C" not null,
      sequence int8 not null,
      subject text collate "C" not null,
      id text collate "C" not null,
      stored_nanos int8 not null,
      body bytea not null,
      previous bytea not null,
      hash bytea not null,
      primary key (stream, sequence)
    )`,
    `create table archive_heads (
      stream text collate "C" primary key,
      incarnation text collate "C" not null,
      position int8 not null default 0,
      hash bytea not null,
      epoch int8 not null default 0,
      scrubbed_at timestamptz,
      findings jsonb not null default '[]',
      mended_at timestamptz,
      mended jsonb not null default '[]'
    ) with (fillfactor = 50)`,
    `create table archive_losses (
      stream text collate "C" not null,
      first int8 not null,
      last int8 not null,
      reason text collate "C" not null,
      ids jsonb not null,
      found_at timestamptz not null default now(),
      primary key (stream, first, last)
    )`,
  ],
  [
    `alter table archive_heads add column suspicion text, add column restored_at timestamptz`,
    `create table archive_anchors (
      stream text collate "C" not null,
      sequence int8 not null,
      hash bytea not null,
      primary key (stream, sequence)
    )`,
  ],
  [
    `create table evm_nodes (hash bytea primary key, node bytea not null)`,
    `create table evm_headers (number int8 primary key, hash bytea not null, header bytea not null)`,
  ],
  [
    // A node that was there before this step counts as written by the last block.
    `alter table evm_nodes add column height int8 not null default 0, add column is_kept bool not null default false`,
    `update evm_nodes set height = (select max(number) from evm_headers) where exists (select from evm_headers)`,
    `create index evm_nodes_forgettable on evm_nodes (height) where not is_kept`,
    `create table ledger_snapshots (
      height int8 primary key,
      edition int4 not null,
      snapshot bytea not null,
      hash bytea not null
    )`,
  ],
  [
    `alter table archive_heads add column leaves int8 not null default 0`,
    `create table log_tiles (
      stream text collate "C" not null,
      level int2 not null,
      first int8 not null,
      hashes bytea not null,
      primary key (stream, level, first)
    )`,
    `alter table log_tiles alter column hashes set storage external`,
    `create table log_checkpoints (
      stream text collate "C" not null,
      origin text collate "C" not null,
      incarnation text collate "C" not null,
      epoch int4 not null,
      vkey text collate "C" not null,
      size int8 not null,
      root bytea not null,
      note text collate "C" not null,
      signed_at timestamptz not null default now(),
      primary key (stream, origin)
    )`,
    `create table log_refusals (stream text collate "C" primary key, reason text not null)`,
    `create table log_keys (name text collate "C" primary key, seed bytea not null)`,
  ],
  [
    // The queries of `archive/event-links.ts` name the very same expressions.
    `create index archive_causations on archive
      (split_part(split_part(split_part(encode(substring(body for 1024), 'escape'), ',"data":', 1), '"causationid":"', 2), '"', 1))
      where position('"causationid":"'::bytea in substring(body for 1024)) > 0`,
    `create index archive_correlations on archive
      (split_part(split_part(split_part(encode(substring(body for 1024), 'escape'), ',"data":', 1), '"correlationid":"', 2), '"', 1))
      where position('"correlationid":"'::bytea in substring(body for 1024)) > 0`,
    `create index archive_transactions on archive
      (split_part(split_part(encode(body, 'escape'), '"transaction":{"hash":"', 2), '"', 1))
      where stream = 'ACTIONS' and position('"transaction":{"hash":"'::bytea in body) > 0`,
  ],
  [`alter table generations add column paused_at timestamptz`],
  [`create index archive_causes on archive (id) where stream = 'SYNC'`],
];

/**
 * Brings a network's bookkeeping up to date; safe to repeat, and safe when several replicas start at once.
 *
 * Tables of projections are never migrated: a new shape is a new generation.
 */
export async function migrate({ pools, network }: { pools: Pools; network: string }): Promise<void> {
  const schema = metaSchema(network);
  await withClient(pools.bulk, async (client) => {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 1))', [schema]);
    await createSchema(client, schema);
    await client.query(`set local search_path = ${schema}`);
    await client.query(
      'create table if not exists migrations (number int4 primary key, applied_at timestamptz not null default now())',
    );
    const { rows } = await client.query<{ done: number }>('select count(*)::int4 as done from migrations');
    const done = rows[0]?.done ?? 0;
    if (done > steps.length) throw tooNew(schema, done);
    for (const [index, statements] of steps.entries()) {
      if (index < done) continue;
      for (const statement of statements) await client.query(statement);
      await client.query('insert into migrations (number) values ($1)', [index + 1]);
    }
    await client.query('commit');
  });
}

/** Checks first, because `create schema if not exists` needs the right to create even when the schema is there. */
async function createSchema(client: pg.ClientBase, schema: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
  if (rowCount === 0) await client.query(`create schema ${schema}`);
}

function tooNew(schema: string, done: number): AppError {
  return new AppError(
    'CONFLICT',
    `Schema ${schema} was brought to step ${done} by a newer version; this one knows ${steps.length}`,
  );
}
