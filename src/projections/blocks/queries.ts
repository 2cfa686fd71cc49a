import { sql } from 'kysely';
import type { RowOf } from '../columns.ts';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { blockLogs, blockTable } from './block-tables.ts';

/** A block of the virtual machine as its readers take it. */
export type BlockRow = RowOf<typeof blockTable>;
/** What a contract wrote down, with its place and its block's hash. */
export type LogRow = RowOf<typeof blockLogs> & Readonly<{ block_hash: string }>;

type Nothing = Readonly<Record<string, never>>;

/** Which logs are looked for: of any of some addresses, with any of some topics at each place (null: any at all). */
export type LogFilter = Readonly<{
  from: number;
  to: number;
  addresses: readonly string[];
  topics: readonly (readonly string[] | null)[];
  limit: number;
}>;

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

/** Logs of some blocks in their order, `limit` of them at most. */
export class SearchLogs extends Query<LogFilter, readonly LogRow[]> {}

/** What answers each query of blocks. */
export const blockQueries = [
  answered(LatestBlock, (reading) => oneBlock(reading, (of) => of.orderBy('number', 'desc'))),
  answered(BlockByNumber, (reading, { number }) => oneBlock(reading, (of) => of.where('number', '=', number))),
  answered(BlockByHash, (reading, { hash }) => oneBlock(reading, (of) => of.where('hash', '=', bytes(hash)))),
  answered(BlockOfTransaction, blockOfTransaction),
  answered(SearchLogs, searchLogs),
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

async function searchLogs(
  { db, schemas }: Reading,
  { from, to, addresses, topics, limit }: LogFilter,
): Promise<readonly LogRow[]> {
  let query = db
    .withSchema(schemas.blocks)
    .selectFrom('block_logs')
    .innerJoin('blocks', 'blocks.number', 'block_logs.number')
    .selectAll('block_logs')
    .select('blocks.hash as block_hash')
    .where('block_logs.number', '>=', from)
    .where('block_logs.number', '<=', to);
  if (addresses.length > 0) query = query.where('address', 'in', addresses.map(bytes));
  for (const [place, any] of topics.entries())
    if (any !== null && any.length > 0) query = query.where(topicColumns[place] ?? 'topic3', 'in', any.map(bytes));
  return await query.orderBy('block_logs.number').orderBy('block_logs.place').limit(limit).execute();
}

const topicColumns = ['topic0', 'topic1', 'topic2', 'topic3'] as const;

/** Hexadecimal digits behind 0x as the value of a `bytea` column. */
function bytes(hex: string) {
  return sql<`0x${string}`>`decode(${hex.slice(2)}, 'hex')`;
}
