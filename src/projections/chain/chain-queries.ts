import { sql } from 'kysely';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { ChainTransaction } from './block-tables.ts';

/** A block as the chain's REST shows it. */
export type ChainBlockRow = Readonly<{
  number: number;
  time: string;
  /** Base64. */
  chain_hash: string;
  previous_hash: string | null;
  /** Of its fact in the log. */
  position: number;
  transactions: readonly Omit<ChainTransaction, 'terms'>[];
}>;

/** A transaction of either kind, with its block's time and position in the log. */
export type ChainTransactionRow = Readonly<{
  number: number;
  place: number;
  /** `0x` and 64 digits. */
  hash: string;
  code: number;
  log: string;
  time: string;
  position: number;
}>;

/** Transactions that have one of the terms of each list, in blocks from one to another, both included. */
export type TransactionSearch = Readonly<{
  terms: readonly (readonly string[])[];
  from: number;
  to: number;
  /** In the order of the blocks, or from the last one back. */
  order: 'asc' | 'desc';
  offset: number;
  limit: number;
}>;

/** The block of a height as the chain's REST shows it. */
export class ChainBlockByHeight extends Query<Readonly<{ height: number }>, ChainBlockRow | undefined> {}

/** The transaction of a hash (`0x` and 64 digits), of either kind. */
export class ChainTransactionByHash extends Query<Readonly<{ hash: string }>, ChainTransactionRow | undefined> {}

/** One page of a search, and how many it finds in all. */
export class MatchingTransactions extends Query<
  TransactionSearch,
  Readonly<{ total: number; transactions: readonly ChainTransactionRow[] }>
> {}

/** How far the blocks can be read: the position in the log. */
export class BlocksFollowed extends Query<Readonly<Record<string, never>>, number> {}

/** What answers each query of the chain's REST. */
export const chainQueries = [
  answered(ChainBlockByHeight, blockByHeight),
  answered(ChainTransactionByHash, transactionByHash),
  answered(MatchingTransactions, matchingTransactions),
  answered(BlocksFollowed, async ({ followed }) => followed.blocks.sequence),
];

async function blockByHeight({ db, schemas }: Reading, { height }: Readonly<{ height: number }>) {
  const of = db.withSchema(schemas.blocks);
  const [block, transactions] = await Promise.all([
    of
      .selectFrom('blocks')
      .select(['number', 'time', 'chain_hash', 'previous_hash', 'position'])
      .where('number', '=', height)
      .where('removed', '=', false)
      .executeTakeFirst(),
    of
      .selectFrom('chain_transactions')
      .select(['hash', 'code', 'log'])
      .where('number', '=', height)
      .orderBy('place')
      .execute(),
  ]);
  return block && { ...block, transactions };
}

async function transactionByHash(reading: Reading, { hash }: Readonly<{ hash: string }>) {
  const digits = hash.slice(2);
  return await transactionsIn(reading)
    .where('t.hash', '=', sql<`0x${string}`>`decode(${digits}, 'hex')`)
    .executeTakeFirst();
}

function transactionsIn({ db, schemas }: Reading) {
  return db
    .withSchema(schemas.blocks)
    .selectFrom('chain_transactions as t')
    .innerJoin('blocks as b', 'b.number', 't.number')
    .select(['t.number', 't.place', 't.hash', 't.code', 't.log', 'b.time', 'b.position']);
}

async function matchingTransactions(reading: Reading, { terms, from, to, order, offset, limit }: TransactionSearch) {
  const schema = sql.id(reading.schemas.blocks);
  const bounds = sql`number between ${from} and ${to}`;
  const having = terms.map(
    (any) => sql`select number, place from ${schema}.transaction_terms where term in (${sql.join(any)}) and ${bounds}`,
  );
  const matches =
    having.length === 0
      ? sql`select number, place from ${schema}.chain_transactions where ${bounds}`
      : sql.join(having, sql` intersect `);
  const counted = sql<{ total: number }>`select count(*) as total from (select distinct * from (${matches}) m) n`;
  const page = sql<ChainTransactionRow>`
    select t.number, t.place, t.hash, t.code, t.log, b.time, b.position
    from (select distinct * from (${matches}) m
          order by number ${sql.raw(order)}, place ${sql.raw(order)} limit ${limit} offset ${offset}) n
    join ${schema}.chain_transactions t using (number, place) join ${schema}.blocks b using (number)
    order by t.number ${sql.raw(order)}, t.place ${sql.raw(order)}`;
  const [total, match] = await Promise.all([counted.execute(reading.db), page.execute(reading.db)]);
  return { total: total.rows[0]?.total ?? 0, transactions: match.rows };
}
