import pg from 'pg';
import { AppError } from '../../../../kit/errors.ts';
import { toReadError } from '../../../../engine/models/database-error.ts';
import { metaSchema } from '../../../../engine/models/engine/generations.ts';
import type { NodeStore, StoredHeader } from './node-store.ts';

/** A store in a network's database, and its connections. */
export type PostgresNodes = NodeStore & Readonly<{ end: () => Promise<void> }>;

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
    put: async ({ nodes, header }) => {
      const client = await pool.connect().catch(rethrow);
      try {
        await client.query('begin');
        const { rowCount } = await client.query(
          `insert into ${schema}.evm_headers (number, hash, header)
           select $1::int8, $2::bytea, $3::bytea
           where $1 = coalesce((select max(number) + 1 from ${schema}.evm_headers), 0)`,
          [String(header.number), Buffer.from(header.hash.slice(2), 'hex'), header.rlp],
        );
        if (rowCount === 0) await refuseOther(client, schema, header);
        await client.query(writing(schema), [
          [...nodes.keys()].map((hash) => Buffer.from(hash, 'hex')),
          [...nodes.values()].map((node) => Buffer.from(node)),
          String(header.number),
        ]);
        await client.query('commit');
        client.release();
      } catch (caught) {
        client.release(true);
        throw caught instanceof AppError ? caught : toReadError(caught);
      }
    },
    end: () => pool.end(),
  };
}

async function refuseOther(client: pg.ClientBase, schema: string, { number, hash }: StoredHeader): Promise<void> {
  const { rows } = await client.query<{ hash: Buffer }>(`select hash from ${schema}.evm_headers where number = $1`, [
    String(number),
  ]);
  const stored = rows[0] && `0x${rows[0].hash.toString('hex')}`;
  if (stored === hash) return;
  throw new AppError(
    'CONFLICT',
    stored === undefined
      ? `The state is not at the block before ${number}`
      : `The state holds another block ${number} (${stored}) than ${hash}`,
  );
}

function rethrow(caught: unknown): never {
  throw toReadError(caught);
}

const writing = (schema: string): string => `
  insert into ${schema}.evm_nodes as known (hash, node, height)
  select hash, node, $3::int8 from unnest($1::bytea[], $2::bytea[]) written (hash, node)
  on conflict (hash) do update set height = excluded.height where known.height < excluded.height`;
