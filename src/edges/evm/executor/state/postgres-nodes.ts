import pg from 'pg';
import { AppError } from '../../../../kit/errors.ts';
import { StopError, toReadError } from '../../../../engine/models/database-error.ts';
import { metaSchema } from '../../../../engine/models/engine/generations.ts';
import type { NodeBatch, NodeStore, StoredHeader } from './node-store.ts';

/** A store in a network's database, and its connections. */
export type PostgresNodes = NodeStore &
  Readonly<{
    /** Stores blocks that follow one another as `put` does one, all or nothing. */
    putAll: (batches: readonly NodeBatch[]) => Promise<void>;
    end: () => Promise<void>;
  }>;

const connections = 3;
const waitMs = 10_000;

type HeaderRow = Readonly<{ number: string; hash: string; header: Buffer }>;
const headerColumns = `number::text as number, '0x' || encode(hash, 'hex') as hash, header`;

/**
 * Opens the store of a network's state; its tables are there once the database was brought up to date.
 *
 * A node counts as of the last block that wrote it (`forgetStates`). Blocks that a crash loses are executed again: a
 * block and its nodes are written together.
 */
export function openPostgresNodes(postgres: pg.ClientConfig, network: string): PostgresNodes {
  const schema = metaSchema(network);
  const pool = new pg.Pool({
    ...postgres,
    application_name: `annals ${network} state`,
    max: connections,
    query_timeout: waitMs,
    options: '-c synchronous_commit=off -c jit=off',
  });
  // A connection lost while idle must not end the process; its next user gets the error.
  pool.on('error', () => undefined);
  const headerOf = async (name: string, condition: string, values: unknown[]): Promise<StoredHeader | undefined> => {
    const text = `select ${headerColumns} from ${schema}.evm_headers ${condition}`;
    const { rows } = await pool.query<HeaderRow>({ name, text, values }).catch(rethrow);
    const [row] = rows;
    return row && { number: BigInt(row.number), hash: row.hash, rlp: row.header };
  };
  const putAll = async (batches: readonly NodeBatch[]): Promise<void> => {
    const write = async () => await pool.query<{ fits: boolean }>(writing(schema, batches));
    const { rows } = await write()
      // Another process stored one of them meanwhile: what it stored is visible now, and is compared.
      .catch(async (caught: unknown) => (isTaken(caught) ? await write() : Promise.reject(caught)))
      .catch(rethrow);
    if (rows[0]?.fits) return;
    for (const { header } of batches) await refuseOther(pool, schema, header);
  };
  return {
    get: async (hash) => {
      const { rows } = await pool
        .query<{ node: Buffer }>({
          name: 'evm_node',
          text: `select node from ${schema}.evm_nodes where hash = $1`,
          values: [Buffer.from(hash, 'hex')],
        })
        .catch(rethrow);
      return rows[0]?.node;
    },
    head: () => headerOf('evm_head', 'order by evm_headers.number desc limit 1', []),
    header: (number) => headerOf('evm_header', 'where evm_headers.number = $1', [String(number)]),
    put: (batch) => putAll([batch]),
    putAll,
    end: () => pool.end(),
  };
}

/** Fails with what stands against a block; a block that is stored already passes. */
async function refuseOther(client: pg.Pool, schema: string, { number, hash }: StoredHeader): Promise<void> {
  const text = `select hash from ${schema}.evm_headers where number = $1`;
  const { rows } = await client.query<{ hash: Buffer }>(text, [String(number)]).catch(rethrow);
  const stored = rows[0] && `0x${rows[0].hash.toString('hex')}`;
  if (stored === hash) return;
  throw new AppError(
    'CONFLICT',
    stored === undefined
      ? `The state is not at the block before ${number}`
      : `The state holds another block ${number} (${stored}) than ${hash}`,
  );
}

/** Whether a row with the same key was written while a statement ran. */
const isTaken = (caught: unknown): boolean => caught instanceof pg.DatabaseError && caught.code === '23505';

/**
 * Whatever PostgreSQL refuses, a page that cannot be read included: the state is out of reach then, and neither a
 * transaction nor a request is to blame.
 */
function rethrow(caught: unknown): never {
  const error = toReadError(caught);
  throw error instanceof StopError ? new AppError('UNAVAILABLE', error.message, { cause: caught }) : error;
}

/** One statement for blocks and their nodes: it writes nothing where they do not fit what is stored. */
function writing(schema: string, batches: readonly NodeBatch[]): pg.QueryConfig {
  const nodes = new Map<string, readonly [node: Uint8Array, height: bigint]>();
  for (const { nodes: own, header } of batches) for (const [hash, node] of own) nodes.set(hash, [node, header.number]);
  const headers = batches.map(({ header }) => header);
  const written = [...nodes.values()];
  return {
    name: 'evm_put',
    text: `with head as (select coalesce(max(number), -1) as number from ${schema}.evm_headers),
      given as (select * from unnest($1::int8[], $2::bytea[], $3::bytea[]) given (number, hash, header)),
      fitting as (
        select (select min(number) from given) <= head.number + 1 and not exists (
          select from given where number <= head.number
            and not exists (select from ${schema}.evm_headers where number = given.number and hash = given.hash)
        ) as fits from head
      ),
      added as (
        insert into ${schema}.evm_headers (number, hash, header)
        select given.* from given, head, fitting where fits and given.number > head.number
      ),
      stored as (
        insert into ${schema}.evm_nodes as known (hash, node, height)
        select hash, node, height
        from unnest($4::bytea[], $5::bytea[], $6::int8[]) written (hash, node, height), fitting where fits
        on conflict (hash) do update set height = excluded.height where known.height < excluded.height
      )
      select fits from fitting`,
    values: [
      headers.map(({ number }) => String(number)),
      headers.map(({ hash }) => Buffer.from(hash.slice(2), 'hex')),
      headers.map(({ rlp }) => Buffer.from(rlp)),
      [...nodes.keys()].map((hash) => Buffer.from(hash, 'hex')),
      written.map(([node]) => Buffer.from(node)),
      written.map(([, height]) => String(height)),
    ],
  };
}
