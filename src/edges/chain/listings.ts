import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { asObject } from './values.ts';

/** A list of the chain: its route, the field that holds the records, the height whose state is read, records per page. */
export type Listing = Readonly<{ route: string; field: string; height: number; pageSize: number }>;

const mostPages = 20_000;

/**
 * The pages of a list, all as of one height.
 *
 * Ends normally only when the list is whole: a key that comes again, pages without end, a page of another height or without a
 * list fail. What was given until then is right, but nothing may be concluded from what is missing.
 */
export async function* pagesOf(
  session: ChainSession,
  { route, field, height, pageSize }: Listing,
): AsyncGenerator<readonly unknown[]> {
  const keys = new Set<string>();
  let key = '';
  for (let page = 1; page <= mostPages; page++) {
    const query = { 'pagination.limit': String(pageSize), ...(key === '' ? {} : { 'pagination.key': key }) };
    const { body, height: answeredAt } = await session.get(route, { query, height });
    if (answeredAt !== undefined && answeredAt !== height)
      throw new ChainFailure('bad_answer', `The list of ${field} was not read at the height asked for`);
    const answer = asObject(body);
    const records: unknown = answer?.[field];
    if (!Array.isArray(records)) throw new ChainFailure('bad_answer', `The list of ${field} holds no list`);
    yield records;
    const next = asObject(answer?.['pagination'])?.['next_key'] ?? '';
    if (next === '') return;
    if (typeof next !== 'string' || keys.has(next) || records.length === 0)
      throw new ChainFailure('bad_answer', `The pages of the list of ${field} go round in circles`);
    keys.add(next);
    key = next;
  }
  throw new ChainFailure('bad_answer', `The list of ${field} does not end`);
}
