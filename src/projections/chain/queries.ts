import type { RowOf } from '../columns.ts';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { blockTable, blockTransactions } from './block-tables.ts';
import {
  bytea,
  LogsMatching,
  LogsOfReceipts,
  LogTextsOfReceipts,
  logsOfReceipts,
  logTextsOfReceipts,
  matchingLogs,
} from './log-queries.ts';

const headColumns = ['number', 'hash', 'header', 'timestamp', 'transaction_count', 'size_bytes'] as const;

/** The header fields of a block, without its transactions and their results. */
export type HeadRow = Pick<RowOf<typeof blockTable>, (typeof headColumns)[number]>;
/** Where a transaction lies, and its receipt without logs. */
export type TransactionRow = RowOf<typeof blockTransactions>;

type Nothing = Readonly<Record<string, never>>;
type OfNumber = Readonly<{ number: number }>;
/** Transactions of a block: the one at index `place`, or all of them without it. */
type OfPosition = OfNumber & Readonly<{ place?: number | undefined }>;

/** The latest block that the read model has; undefined before the first. */
export class LatestBlock extends Query<Nothing, HeadRow | undefined> {}

/** The block of a number. */
export class BlockByNumber extends Query<OfNumber, HeadRow | undefined> {}

/** The blocks from one number to another, both included, in their order. */
export class BlocksBetween extends Query<Readonly<{ from: number; to: number }>, readonly HeadRow[]> {}

/** The block of a hash (0x and 64 digits). */
export class BlockByHash extends Query<Readonly<{ hash: string }>, HeadRow | undefined> {}

/** The block that holds a transaction, and the transaction's index in it. */
export class BlockOfTransaction extends Query<
  Readonly<{ hash: string }>,
  Readonly<{ block: HeadRow; place: number }> | undefined
> {}

/** Both parts of a block (RLP) and what the rules left to it; undefined where there is none. */
export class BlockBody extends Query<
  OfNumber,
  Pick<RowOf<typeof blockTable>, 'header' | 'body' | 'opening'> | undefined
> {}

/** The transactions of a block in their order, without their logs. */
export class TransactionsOfBlock extends Query<OfPosition, readonly TransactionRow[]> {}

/** What answers each query of blocks. */
export const blockQueries = [
  answered(LatestBlock, (reading) => oneHead(reading, (of) => of.orderBy('number', 'desc'))),
  answered(BlockByNumber, (reading, { number }) => oneHead(reading, (of) => of.where('number', '=', number))),
  answered(BlocksBetween, (reading, { from, to }) =>
    headsIn(reading).where('number', '>=', from).where('number', '<=', to).orderBy('number').execute(),
  ),
  answered(BlockByHash, (reading, { hash }) => oneHead(reading, (of) => of.where('hash', '=', bytea(hash)))),
  answered(BlockOfTransaction, blockOfTransaction),
  answered(BlockBody, blockBody),
  answered(TransactionsOfBlock, transactionsOfBlock),
  answered(LogsMatching, matchingLogs),
  answered(LogsOfReceipts, logsOfReceipts),
  answered(LogTextsOfReceipts, logTextsOfReceipts),
];

function headsIn({ db, schemas }: Reading) {
  return db.withSchema(schemas.blocks).selectFrom('blocks').select(headColumns).where('removed', '=', false);
}

async function oneHead(
  reading: Reading,
  narrow: (of: ReturnType<typeof headsIn>) => ReturnType<typeof headsIn>,
): Promise<HeadRow | undefined> {
  return await narrow(headsIn(reading)).limit(1).executeTakeFirst();
}

async function blockOfTransaction(reading: Reading, { hash }: Readonly<{ hash: string }>) {
  const { db, schemas } = reading;
  const match = await db
    .withSchema(schemas.blocks)
    .selectFrom('block_transactions')
    .select(['number', 'place'])
    .where('hash', '=', bytea(hash))
    .executeTakeFirst();
  if (!match) return undefined;
  const block = await oneHead(reading, (of) => of.where('number', '=', match.number));
  return block && { block, place: match.place };
}

async function blockBody({ db, schemas }: Reading, { number }: OfNumber) {
  const of = db.withSchema(schemas.blocks).selectFrom('blocks').select(['header', 'body', 'opening']);
  return await of.where('number', '=', number).where('removed', '=', false).executeTakeFirst();
}

async function transactionsOfBlock({ db, schemas }: Reading, { number, place }: OfPosition) {
  let of = db.withSchema(schemas.blocks).selectFrom('block_transactions').selectAll().where('number', '=', number);
  if (place !== undefined) of = of.where('place', '=', place);
  return await of.orderBy('place').execute();
}
