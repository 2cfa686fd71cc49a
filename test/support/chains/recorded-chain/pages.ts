import { badParameter, Refusal } from './refusal.ts';

/** How a list is walked: by the bytes of each record's key, or counted down by number. */
export type Walk<T> = Readonly<{ keyOf: (item: T) => Buffer; matches?: (item: T) => boolean; countsDown?: boolean }>;

/** One page as the chain's REST cuts it. */
export type Page<T> = Readonly<{
  items: readonly T[];
  pagination: Readonly<{ next_key: string | null; total: string }>;
}>;

type Wish = Readonly<{ key: Buffer | undefined; offset: number; limit: number; countTotal: boolean; reverse: boolean }>;

/** Cuts a page out of a list, with the chain's own rules of when a total is told and what the next key is. */
export function pageOf<T>(all: readonly T[], params: URLSearchParams, walk: Walk<T>): Page<T> {
  const wish = wishOf(params);
  if (wish.reverse && walk.countsDown) return countDown(all, wish, walk);
  if (wish.key && wish.offset > 0)
    throw new Refusal(
      500,
      13,
      'failed to paginate actions: invalid request, either offset or key is expected, got both',
    );
  const sign = wish.reverse ? -1 : 1;
  const sorted = all.toSorted((a, b) => sign * Buffer.compare(walk.keyOf(a), walk.keyOf(b)));
  return wish.key ? fromKey(sorted, wish.key, wish, walk) : fromOffset(sorted, wish, walk);
}

function wishOf(params: URLSearchParams): Wish {
  const limit = whole(params.get('pagination.limit') ?? '0');
  const key = params.get('pagination.key') ?? '';
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(key))
    throw badParameter('illegal base64 data at input byte 0');
  return {
    key: key === '' ? undefined : Buffer.from(key, 'base64'),
    offset: whole(params.get('pagination.offset') ?? '0'),
    limit: limit === 0 ? 100 : limit,
    countTotal: limit === 0 || params.get('pagination.count_total') === 'true',
    reverse: params.get('pagination.reverse') === 'true',
  };
}

function whole(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw badParameter(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

function fromOffset<T>(
  sorted: readonly T[],
  { offset, limit, countTotal }: Wish,
  { keyOf, matches = every }: Walk<T>,
): Page<T> {
  const hits = sorted.filter(matches);
  const next = hits[offset + limit];
  const total = countTotal ? hits.length : 0;
  return page(hits.slice(offset, offset + limit), next === undefined ? null : keyOf(next), total);
}

/** From a key on the chain stops at the record after the last hit, whether or not that matches. */
function fromKey<T>(
  sorted: readonly T[],
  key: Buffer,
  { limit, reverse }: Wish,
  { keyOf, matches = every }: Walk<T>,
): Page<T> {
  const items: T[] = [];
  for (const item of sorted) {
    const order = Buffer.compare(keyOf(item), key);
    if (reverse ? order > 0 : order < 0) continue;
    if (items.length === limit) return page(items, keyOf(item), 0);
    if (matches(item)) items.push(item);
  }
  return page(items, null, 0);
}

/** Downwards by number the key is an offset of eight bytes. */
function countDown<T>(
  all: readonly T[],
  { key, offset, limit, countTotal }: Wish,
  { keyOf, matches = every }: Walk<T>,
): Page<T> {
  if (key && key.length !== 8) throw new Refusal(400, 3, 'invalid pagination key');
  const hits = all.filter(matches).toSorted((a, b) => Number(keyOf(b).toString()) - Number(keyOf(a).toString()));
  const from = key ? Number(key.readBigUInt64BE()) : offset;
  const next = Buffer.alloc(8);
  next.writeBigUInt64BE(BigInt(from + limit));
  return page(hits.slice(from, from + limit), from + limit < hits.length ? next : null, countTotal ? hits.length : 0);
}

const every = (): boolean => true;

function page<T>(items: readonly T[], next: Buffer | null, total: number): Page<T> {
  return { items, pagination: { next_key: next?.toString('base64') ?? null, total: String(total) } };
}
