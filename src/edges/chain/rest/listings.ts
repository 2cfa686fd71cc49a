import type { Answer } from './answer.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { asObject } from './values.ts';

/**
 * A list of the chain: its route, the field that holds the records, the height whose state is read, records per page.
 */
type Listing = Readonly<{
  route: string;
  field: string;
  height: number;
  pageSize: number;
  /** Limit of the size of all its pages together, for a caller that holds them until the last one has come. */
  mostBytes?: number;
  /** Is called for a record that cannot be read at all; nothing may be concluded from its absence. */
  leaveOut: (reason: string) => void;
}>;

const mostPages = 20_000;
const mostLeftOut = 10;
const longestKey = 4_096;

/**
 * The pages of a list, all as of one height.
 *
 * Pages become smaller where one is too large; one record that is too large alone is left out, and the pages continue
 * behind it by offset, for up to ten such records. Ends normally only when all others were yielded: a repeated key,
 * pages without end, a page of another height or without a list fail. The records yielded until then are right, but
 * nothing may be concluded from those that are missing.
 */
export async function* pagesOf(
  session: ChainSession,
  { route, field, height, pageSize, mostBytes = Infinity, leaveOut }: Listing,
): AsyncGenerator<readonly unknown[]> {
  const keys = new Set<string>();
  const limit = { size: pageSize };
  let from: Page['from'] = {};
  let [read, input, leftOut] = [0, 0, 0];
  for (let page = 1; page <= mostPages; page++) {
    const answered = await pageAt(session, { route, height, from, limit });
    if (answered === 'too large') {
      leftOut += 1;
      if (leftOut > mostLeftOut)
        throw new ChainFailure('bad_answer', `The list of ${field} has too many records that are too large to be read`);
      leaveOut('it is too large to be read');
      from = { 'pagination.offset': String(input + leftOut) };
      continue;
    }
    const { body, height: answeredAt, bytes } = answered;
    if (answeredAt !== undefined && answeredAt !== height)
      throw new ChainFailure('bad_answer', `The list of ${field} was not read at the height asked for`);
    read += bytes;
    if (read > mostBytes) throw new ChainFailure('bad_answer', `The list of ${field} does not end`);
    const answer = asObject(body);
    const records: unknown = answer?.[field];
    if (!Array.isArray(records)) throw new ChainFailure('bad_answer', `The list of ${field} holds no list`);
    yield records;
    input += records.length;
    if ('pagination.offset' in from) limit.size = pageSize;
    const next = asObject(answer?.['pagination'])?.['next_key'] ?? '';
    if (next === '') return;
    if (typeof next !== 'string' || next.length > longestKey || keys.has(next) || records.length === 0)
      throw new ChainFailure('bad_answer', `The pages of the list of ${field} go round in circles`);
    keys.add(next);
    from = { 'pagination.key': next };
  }
  throw new ChainFailure('bad_answer', `The list of ${field} does not end`);
}

type Page = Pick<Listing, 'route' | 'height'> & {
  from: Readonly<{ 'pagination.key'?: string; 'pagination.offset'?: string }>;
  limit: { size: number };
};

async function pageAt(session: ChainSession, { route, height, from, limit }: Page): Promise<Answer | 'too large'> {
  for (;;) {
    try {
      return await session.get(route, { query: { 'pagination.limit': String(limit.size), ...from }, height });
    } catch (caught) {
      if (!(caught instanceof ChainFailure) || !caught.isTooLarge) throw caught;
      if (limit.size === 1) return 'too large';
      limit.size = Math.ceil(limit.size / 8);
    }
  }
}
