import { sql } from 'kysely';
import type { RowOf } from '../columns.ts';
import { Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { blockLogs } from './block-tables.ts';

/**
 * Logs of blocks from one to another, both included, by address and by the topic at each position; an empty list
 * matches any.
 */
export type LogSearch = Readonly<{
  from: number;
  to: number;
  addresses: readonly string[];
  topics: readonly (readonly string[])[];
  /** Left out: all of them. */
  most?: LogBounds | undefined;
}>;

/** How many logs an answer may hold, and how many bytes of data in them. */
export type LogBounds = Readonly<{ logs: number; dataBytes: number }>;

/** A log with its block's hash and time. */
export type LogRow = RowOf<typeof blockLogs> & Readonly<{ hash: string; timestamp: number }>;

/** The logs that match, oldest first, or which bound they exceed; beyond it nothing of them is read. */
export class LogsMatching extends Query<LogSearch, readonly LogRow[] | Readonly<{ exceeds: keyof LogBounds }>> {}

const topicColumns = ['topic0', 'topic1', 'topic2', 'topic3'] as const;

/** What a receipt shows of a log itself, and whose it is. */
export type ReceiptLogRow = Pick<LogRow, (typeof topicColumns)[number] | 'address' | 'data' | 'transaction_place'>;

/** The logs of a block in their order, of all transactions or of the one at `place`, for their receipts. */
export class LogsOfReceipts extends Query<
  Readonly<{ number: number; place?: number | undefined }>,
  readonly ReceiptLogRow[]
> {}

/** Answers `LogsOfReceipts`; what the logs of a block have in common is in none of its rows. */
export async function logsOfReceipts({ db, schemas }: Reading, { number, place }: LogsOfReceipts['asked']) {
  return await db
    .withSchema(schemas.blocks)
    .selectFrom('block_logs')
    .select(['transaction_place', 'address', ...topicColumns, 'data'])
    .where('number', '=', number)
    .$if(place !== undefined, (logs) => logs.where('transaction_place', '=', place ?? 0))
    .orderBy('place')
    .execute();
}

/**
 * The logs of a transaction as the JSON of `eth_getTransactionReceipt` shows them, without the brackets around them;
 * `parts` are the addresses and topics in them, each once: what its bloom is made of.
 */
export type ReceiptLogsText = Readonly<{ transaction_place: number; text: string; parts: readonly `0x${string}`[] }>;

/**
 * The logs of a block that has some, by transaction, of all of them or of the one at `place`; hash and time (in
 * seconds) are of the block.
 *
 * PostgreSQL writes the JSON: thousands of rows become as many objects nowhere, and other reads do not wait for that.
 */
export class LogTextsOfReceipts extends Query<
  Readonly<{ number: number; hash: string; timestamp: bigint; place?: number | undefined }>,
  readonly ReceiptLogsText[]
> {}

const hexOf = (column: string) => sql`encode(${sql.ref(column)}, 'hex')`;
const quoted = (column: string) => sql`'"0x' || ${hexOf(column)} || '"'`;

/** Answers `LogTextsOfReceipts`. */
export async function logTextsOfReceipts(
  { db, schemas }: Reading,
  { number, hash, timestamp, place }: LogTextsOfReceipts['asked'],
): Promise<ReceiptLogsText[]> {
  const beforeHash = `","blockNumber":"0x${number.toString(16)}","transactionHash":"0x`;
  const beforeIndex = `","blockHash":"${hash}","blockTimestamp":"0x${timestamp.toString(16)}","logIndex":"0x`;
  const text = sql`concat('{"address":"0x', ${hexOf('address')},
    '","topics":[', concat_ws(',', ${sql.join(topicColumns.map(quoted))}), '],"data":"0x', ${hexOf('data')},
    ${beforeHash}::text, ${hexOf('transaction')}, '","transactionIndex":"0x', to_hex(transaction_place),
    ${beforeIndex}::text, to_hex(place), '","removed":false}')`;
  const parts = ['address', ...topicColumns].map((column) => sql`string_agg(distinct ${hexOf(column)}, ',')`);
  const rows = await db
    .withSchema(schemas.blocks)
    .selectFrom('block_logs')
    .select([
      'transaction_place',
      sql<string>`string_agg(${text}, ',' order by place)`.as('text'),
      sql<string>`concat_ws(',', ${sql.join(parts)})`.as('parts'),
    ])
    .where('number', '=', number)
    .$if(place !== undefined, (logs) => logs.where('transaction_place', '=', place ?? 0))
    .groupBy('transaction_place')
    .execute();
  return rows.map((row) => ({ ...row, parts: row.parts.split(',').map((part) => `0x${part}` as const) }));
}

/** Answers `LogsMatching`. */
export async function matchingLogs(reading: Reading, search: LogSearch) {
  const { most } = search;
  const matching = narrowed(reading, search);
  if (!matching) return [];
  const exceeds = most && (await exceeded(reading, matching, most));
  if (exceeds) return { exceeds };
  return await matching
    .innerJoin('blocks as b', 'b.number', 'l.number')
    .where('b.removed', '=', false)
    .selectAll('l')
    .select(['b.hash', 'b.timestamp'])
    .orderBy('l.number')
    .orderBy('l.place')
    .execute();
}

async function exceeded(
  { db }: Reading,
  matching: NonNullable<ReturnType<typeof narrowed>>,
  most: LogBounds,
): Promise<keyof LogBounds | undefined> {
  const sizes = matching.select(sql<number>`octet_length(l.data)`.as('size')).limit(most.logs + 1);
  const { logs, bytes } = await db
    .selectFrom(sizes.as('sized'))
    .select([sql<number>`count(*)::int8`.as('logs'), sql<number>`coalesce(sum(size), 0)::int8`.as('bytes')])
    .executeTakeFirstOrThrow();
  if (logs > most.logs) return 'logs';
  return bytes > most.dataBytes ? 'dataBytes' : undefined;
}

/** Undefined where nothing can match: no log has a fifth topic. */
function narrowed({ db, schemas }: Reading, { from, to, addresses, topics }: LogSearch) {
  let of = db.withSchema(schemas.blocks).selectFrom('block_logs as l');
  of = of.where('l.number', '>=', from).where('l.number', '<=', to);
  if (addresses.length > 0) of = of.where('l.address', 'in', addresses.map(bytea));
  for (const [at, values] of topics.entries()) {
    const name = topicColumns[at];
    if (!name) return undefined;
    of = values.length > 0 ? of.where(`l.${name}`, 'in', values.map(bytea)) : of.where(`l.${name}`, 'is not', null);
  }
  return of;
}

/** Hexadecimal digits behind 0x as the value of a `bytea` column. */
export function bytea(hex: string) {
  return sql<`0x${string}`>`decode(${hex.slice(2)}, 'hex')`;
}
