import { fail, failUnread, unsignedQuery } from './answer.ts';

/** The page parameters of a list. */
export type ListPage = Readonly<{
  key: Buffer | undefined;
  offset: number;
  limit: number;
  countsTotal: boolean;
  isReverse: boolean;
}>;

/** A part of a list with the two texts that follow it on the wire. */
export type Paged<T> = Readonly<{
  items: readonly T[];
  pagination: Readonly<{ next_key: string | null; total: string }>;
}>;

const defaultLimit = 100;
/** More than a real client requests; a longer page ends with a `next_key` like any other. */
const maxLimit = 1000;

/**
 * Reads `pagination.*`.
 *
 * Without a limit, or with 0, a page holds 100 and the total is always counted.
 */
export function pageOf(query: URLSearchParams): ListPage {
  const limit = unsignedQuery(query, 'pagination.limit');
  const countsTotal = booleanQuery(query, 'pagination.count_total');
  const key = keyQuery(query);
  const offset = unsignedQuery(query, 'pagination.offset');
  const isReverse = booleanQuery(query, 'pagination.reverse');
  return {
    key,
    offset,
    limit: Math.min(limit || defaultLimit, maxLimit),
    countsTotal: limit === 0 || countsTotal,
    isReverse,
  };
}

/**
 * A page of a list that is sorted by key; the next key is that of the first item not on the page.
 *
 * A key need not exist: the page starts at its position in the order. With a key the total is not counted.
 */
export function pageByKey<T>(sorted: readonly T[], keyOf: (item: T) => Buffer, page: ListPage): Paged<T> {
  const { key, offset } = page;
  if (key && offset > 0)
    fail(13, 'failed to paginate actions: invalid request, either offset or key is expected, got both');
  const items = page.isReverse ? sorted.toReversed() : sorted;
  const isReached = (item: T, from: Buffer) =>
    page.isReverse ? keyOf(item).compare(from) <= 0 : keyOf(item).compare(from) >= 0;
  const match = key ? items.findIndex((item) => isReached(item, key)) : offset;
  const start = match === -1 ? items.length : match;
  const next = items[start + page.limit];
  return {
    items: items.slice(start, start + page.limit),
    pagination: {
      next_key: next === undefined ? null : keyOf(next).toString('base64'),
      total: page.countsTotal && !key ? String(items.length) : '0',
    },
  };
}

/**
 * A page of a list whose keys are offsets in it, 8 bytes big-endian: items that are added in between shift the pages.
 */
export function pageByPosition<T>(items: readonly T[], page: ListPage): Paged<T> {
  const start = page.key ? positionOf(page.key) : page.offset;
  const end = start + page.limit;
  return {
    items: items.slice(start, end),
    pagination: {
      next_key: end < items.length ? positionKey(end) : null,
      total: page.countsTotal ? String(items.length) : '0',
    },
  };
}

function positionOf(key: Buffer): number {
  if (key.length !== 8) return fail(3, 'invalid pagination key');
  return Number(key.readBigUInt64BE());
}

function positionKey(location: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(location));
  return bytes.toString('base64');
}

function keyQuery(query: URLSearchParams): Buffer | undefined {
  const text = query.get('pagination.key');
  if (text === null || text === '') return undefined;
  const isBase64 = text.length % 4 === 0 && /^[\w+/-]+={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64') : failUnread('illegal base64 data at input byte 0');
}

function booleanQuery(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  return failUnread(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
}
