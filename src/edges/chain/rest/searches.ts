import type { Step } from '../../../commands/sync/action-states.ts';
import type { Answer } from './answer.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { moduleAccount, type NetworkProfile } from './profile.ts';
import { type ActionStep, parseTransaction, type ReadTransaction } from './transactions.ts';
import { asObject, attempt } from './values.ts';

/** Blocks that a search goes over again: a node may show a transaction some blocks late. */
export const overlapBlocks = 10;

/** The transactions to search for: those of a step, within heights, of one action only where it is named. */
type Search = Readonly<{ step: Step; from: number; to: number; action?: string }>;

/**
 * The context of a search: the action module's account and the address prefix; `onHeight` receives the height reached.
 */
type SearchContext = Readonly<{
  account: string;
  prefix: string;
  onHeight?: (height: number) => void;
  /** Steps, payments and accounts together that one search holds at most. */
  mostHeld?: number;
}>;

/** The result of a search, and the transactions that could not be read. */
export type SearchResult = Readonly<{
  steps: readonly ActionStep[];
  unread: readonly { action: string; reason: string }[];
  /** Transactions that could not be read at all. */
  unreadable: readonly { record: string; reason: string }[];
  /** The lowest height that the node still shows, where it refused lower ones. */
  lowestHeight: number | undefined;
  /** Least height among the responses; a node behind the head has not shown everything up to it. */
  shownTo: number;
}>;

/** The search context of a network. */
export function searchContext({ actionModule, addressPrefix }: NetworkProfile): SearchContext {
  return { account: moduleAccount(actionModule, addressPrefix), prefix: addressPrefix };
}

const greatestPage = 100;
const mostPages = 20_000;
const mostChanges = 8;
const mostHeldAtOnce = 200_000;

const eventOf: Readonly<Record<Step, string>> = {
  register: 'action_registered',
  finalize: 'action_finalized',
  approve: 'action_approved',
};

/**
 * All transactions of a step at or above a height and not above another.
 *
 * Where the node has pruned the lower ones, the bound rises to its lowest height; where a page is too large, pages
 * become smaller, and one transaction that is too large alone is left out. A search with more results than memory
 * allows ends below its height, which `shownTo` reports; one that repeats itself fails.
 */
export async function searchSteps(
  session: ChainSession,
  search: Search,
  context: SearchContext,
): Promise<SearchResult> {
  const match = new Findings(search);
  let { from } = search;
  let limit = greatestPage;
  for (let change = 0; ; change++) {
    try {
      await walk(session, { ...search, from, limit }, { ...context, found: match });
      return match.result();
    } catch (caught) {
      if (!(caught instanceof ChainFailure) || change === mostChanges) throw caught;
      const lowest = caught.lowestHeight ?? 0;
      if (lowest > from && lowest <= search.to) match.lowestHeight = from = lowest;
      else if (caught.isTooLarge && limit > 1) limit = Math.ceil(limit / 8);
      else throw caught;
    }
  }
}

async function walk(
  session: ChainSession,
  { step, from, to, action, limit }: Search & { limit: number },
  { found, ...context }: SearchContext & { found: Findings },
): Promise<void> {
  const which = action === undefined ? `${eventOf[step]}.action_id EXISTS` : `${eventOf[step]}.action_id='${action}'`;
  const query = `${which} AND tx.height>=${from}`;
  const seen = new Set<string>();
  for (let page = 1; page <= mostPages; page++) {
    const request = { query, order_by: 'ORDER_BY_ASC', limit: String(limit), page: String(page) };
    const answer = await requestPage(session, request);
    if (answer === 'end') return;
    if (answer === 'too large') {
      found.leaveOut();
      continue;
    }
    const { responses, total } = pageOf(answer.body, step);
    const reached = found.add(responses, answer.height, context);
    if (reached !== undefined) context.onHeight?.(Math.min(reached, to));
    if (responses.length === 0 || page * limit >= total) return;
    const before = seen.size;
    for (const one of responses) seen.add(labelOf(one));
    if (seen.size === before)
      throw new ChainFailure('bad_answer', `The search for ${eventOf[step]} goes round in circles`);
    const isFull = seen.size + found.held > (context.mostHeld ?? mostHeldAtOnce);
    if (isFull && action === undefined && (reached ?? 0) > from + overlapBlocks + 1)
      return found.endBelow(reached ?? 0);
    if (isFull) break;
  }
  throw new ChainFailure('bad_answer', `The search for ${eventOf[step]} does not end`);
}

/** A page; one transaction alone can be too large, and after such a one the end of the pages is still unknown. */
async function requestPage(
  session: ChainSession,
  query: Readonly<Record<'limit' | 'page', string> & Record<string, string>>,
): Promise<Answer | 'too large' | 'end'> {
  try {
    return await session.get('/cosmos/tx/v1beta1/txs', { query });
  } catch (caught) {
    if (!(caught instanceof ChainFailure) || query.limit !== '1') throw caught;
    if (caught.isTooLarge) return 'too large';
    if (query.page !== '1' && caught.isBeyondEnd) return 'end';
    throw caught;
  }
}

function pageOf(body: unknown, step: Step): { responses: readonly unknown[]; total: number } {
  const answer = asObject(body);
  const responses: unknown = answer?.['tx_responses'];
  const total = Number(answer?.['total']);
  if (Array.isArray(responses) && Number.isSafeInteger(total)) return { responses, total };
  throw new ChainFailure(
    'bad_answer',
    `The search for ${eventOf[step]} answers without a list of transactions or its length`,
  );
}

/** The sum of a search's pages. */
class Findings {
  lowestHeight: number | undefined;
  readonly #search: Search;
  readonly #steps = new Map<string, ActionStep>();
  readonly #unread = new Map<string, string>();
  readonly #unreadable = new Map<string, string>();
  #shownTo: number;
  #held = 0;

  constructor(search: Search) {
    this.#search = search;
    this.#shownTo = search.to;
  }

  /** Adds a page; returns the greatest height on it. */
  add(
    responses: readonly unknown[],
    answeredAt: number | undefined,
    { account, prefix }: SearchContext,
  ): number | undefined {
    if (answeredAt !== undefined) this.#shownTo = Math.min(this.#shownTo, answeredAt);
    let greatest: number | undefined;
    for (const response of responses) {
      const read = attempt(() => parseTransaction(response, { account, prefix }));
      if ('reason' in read) {
        this.#unreadable.set(labelOf(response), read.reason);
        continue;
      }
      greatest = Math.max(greatest ?? 0, read.value.height);
      if (read.value.height <= this.#search.to) this.#take(read.value);
    }
    return greatest;
  }

  #take({ steps, unread }: ReadTransaction): void {
    const { step, action } = this.#search;
    for (const one of steps) {
      if (one.step !== step || (action !== undefined && one.action !== action)) continue;
      this.#steps.set(`${one.action} ${one.transaction.hash}`, one);
      this.#held += 1 + one.payments.length + one.accounts.length;
    }
    this.#held += unread.length;
    for (const one of unread) this.#unread.set(one.action, one.reason);
  }

  /** How much is held: steps, payments and accounts together. */
  get held(): number {
    return this.#held;
  }

  /** Notes a transaction that cannot be read at all. */
  leaveOut(): void {
    this.#unreadable.set('a transaction', 'it is too large to be read');
  }

  /** Ends the search below a height of which not all may have been shown. */
  endBelow(height: number): void {
    this.#shownTo = Math.min(this.#shownTo, height - 1);
  }

  result(): SearchResult {
    return {
      steps: [...this.#steps.values()],
      unread: [...this.#unread].map(([action, reason]) => ({ action, reason })),
      unreadable: [...this.#unreadable].map(([record, reason]) => ({ record, reason })),
      lowestHeight: this.lowestHeight,
      shownTo: this.#shownTo,
    };
  }
}

function labelOf(response: unknown): string {
  const hash = asObject(response)?.['txhash'];
  return typeof hash === 'string' && /^[0-9A-Fa-f]{1,64}$/.test(hash)
    ? `transaction ${hash.toUpperCase()}`
    : 'a transaction';
}
