import type { Answer } from './answer.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { asObject } from './values.ts';

/** A list of the chain: its route, the field that holds the records, the height whose state is read, records per page. */
export type Listing = Readonly<{
  route: string;
  field: string;
  height: number;
  pageSize: number;
  /** Size of all its pages together, where they are kept until the last one has come. */
  mostBytes?: number;
}>;

const mostPages = 20_000;
const longestKey = 4_096;

/**
 * The pages of a list, all as of one height.
 *
 * Pages become smaller where one is too large. Ends normally only when the list is whole: a key that comes again, pages without end, a page of another height or without a
 * list fail. What was given until then is right, but nothing may be concluded from what is missing.
 */
export async function* pagesOf(
  session: ChainSession,
  { route, field, height, pageSize, mostBytes = Infinity }: Listing,
): AsyncGenerator<readonly unknown[]> {
  const keys = new Set<string>();
  const limit = { size: pageSize };
  let key = '';
  let read = 0;
  for (let page = 1; page <= mostPages; page++) {
    const { body, height: answeredAt, bytes } = await pageAt(session, { route, height, key, limit });
    if (answeredAt !== undefined && answeredAt !== height)
      throw new ChainFailure('bad_answer', `The list of ${field} was not read at the height asked for`);
    read += bytes;
    if (read > mostBytes) throw new ChainFailure('bad_answer', `The list of ${field} does not end`);
    const answer = asObject(body);
    const records: unknown = answer?.[field];
    if (!Array.isArray(records)) throw new ChainFailure('bad_answer', `The list of ${field} holds no list`);
    yield records;
    const next = asObject(answer?.['pagination'])?.['next_key'] ?? '';
    if (next === '') return;
    if (typeof next !== 'string' || next.length > longestKey || keys.has(next) || records.length === 0)
      throw new ChainFailure('bad_answer', `The pages of the list of ${field} go round in circles`);
    keys.add(next);
    key = next;
  }
  throw new ChainFailure('bad_answer', `The list of ${field} does not end`);
}

type Page = Pick<Listing, 'route' | 'height'> & { key: string; limit: { size: number } };

async function pageAt(session: ChainSession, { route, height, key, limit }: Page): Promise<Answer> {
  for (;;) {
    try {
      const query = { 'pagination.limit': String(limit.size), ...(key === '' ? {} : { 'pagination.key': key }) };
      return await session.get(route, { query, height });
    } catch (caught) {
      if (!(caught instanceof ChainFailure) || !caught.isTooLarge || limit.size === 1) throw caught;
      limit.size = Math.ceil(limit.size / 8);
    }
  }
}
