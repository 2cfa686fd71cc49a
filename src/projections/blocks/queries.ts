import { sql } from 'kysely';
import type { RowOf } from '../columns.ts';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { blockTable } from './block-tables.ts';

/** A block of the virtual machine as its readers take it. */
export type BlockRow = RowOf<typeof blockTable>;

type Nothing = Readonly<Record<string, never>>;

/** The latest block that the read model has; undefined before the first. */
export class LatestBlock extends Query<Nothing, BlockRow | undefined> {}

/** The block of a number. */
export class BlockByNumber extends Query<Readonly<{ number: number }>, BlockRow | undefined> {}

/** The block of a hash (0x and 64 digits). */
export class BlockByHash extends Query<Readonly<{ hash: string }>, BlockRow | undefined> {}

/** The block that a transaction is in, and its place there. */
export class BlockOfTransaction extends Query<
  Readonly<{ hash: string }>,
  Readonly<{ block: BlockRow; place: number }> | undefined
> {}

/**
 * Numbers of the blocks from one to another, both included, that hold a log which one of `addresses` wrote and which
 * has a topic at each place that is one of those named for it, oldest first; an empty list takes any. At most `limit`
 * logs are looked at.
 */
export class BlocksWithLogs extends Query<LogSearch, readonly number[]> {}

type LogSearch = Readonly<{
  from: number;
  to: number;
  addresses: readonly string[];
  topics: readonly (readonly string[])[];
  limit: number;
}>;

/** What answers each query of blocks. */
export const blockQueries = [
  answered(LatestBlock, (reading) => oneBlock(reading, (of) => of.orderBy('number', 'desc'))),
  answered(BlockByNumber, (reading, { number }) => oneBlock(reading, (of) => of.where('number', '=', number))),
  answered(BlockByHash, (reading, { hash }) => oneBlock(reading, (of) => of.where('hash', '=', bytes(hash)))),
  answered(BlockOfTransaction, blockOfTransaction),
  answered(BlocksWithLogs, blocksWithLogs),
];

function blocksIn({ db, schemas }: Reading) {
  return db.withSchema(schemas.blocks).selectFrom('blocks').selectAll().where('removed', '=', false);
}

async function oneBlock(
  reading: Reading,
  narrow: (of: ReturnType<typeof blocksIn>) => ReturnType<typeof blocksIn>,
): Promise<BlockRow | undefined> {
  return await narrow(blocksIn(reading)).limit(1).executeTakeFirst();
}

async function blockOfTransaction(reading: Reading, { hash }: Readonly<{ hash: string }>) {
  const { db, schemas } = reading;
  const found = await db
    .withSchema(schemas.blocks)
    .selectFrom('block_transactions')
    .selectAll()
    .where('hash', '=', bytes(hash))
    .executeTakeFirst();
  if (!found) return undefined;
  const block = await oneBlock(reading, (of) => of.where('number', '=', found.number));
  return block && { block, place: found.place };
}

const topicColumns = ['topic0', 'topic1', 'topic2', 'topic3'] as const;

async function blocksWithLogs({ db, schemas }: Reading, { from, to, addresses, topics, limit }: LogSearch) {
  let of = db.withSchema(schemas.blocks).selectFrom('block_logs').select('number');
  of = of.where('number', '>=', from).where('number', '<=', to);
  if (addresses.length > 0) of = of.where('address', 'in', addresses.map(bytes));
  for (const [at, values] of topics.entries()) {
    const column = topicColumns[at];
    if (!column) return [];
    of = values.length > 0 ? of.where(column, 'in', values.map(bytes)) : of.where(column, 'is not', null);
  }
  const found = await of.orderBy('number').limit(limit).execute();
  return [...new Set(found.map(({ number }) => number))];
}

/** Hexadecimal digits behind 0x as the value of a `bytea` column. */
function bytes(hex: string) {
  return sql<`0x${string}`>`decode(${hex.slice(2)}, 'hex')`;
}
