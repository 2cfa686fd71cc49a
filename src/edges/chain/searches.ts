import type { Step } from '../../commands/sync/action-states.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { moduleAccount, type NetworkProfile } from './profile.ts';
import { type ActionStep, parseTransaction, type ReadTransaction } from './transactions.ts';
import { asObject, attempt } from './values.ts';

/** Which transactions are looked for: those of a step, within heights, of one action only where it is named. */
export type Search = Readonly<{ step: Step; from: number; to: number; action?: string }>;

/** What a search needs besides: the action module's account and the address prefix; told how high it has come. */
export type SearchContext = Readonly<{ account: string; prefix: string; onHeight?: (height: number) => void }>;

/** What a search found, and what of it could not be read. */
export type SearchResult = Readonly<{
  steps: readonly ActionStep[];
  unread: readonly { action: string; reason: string }[];
  /** Transactions that could not be read at all. */
  unreadable: readonly { record: string; reason: string }[];
  /** The lowest height that the node still shows, where it refused lower ones. */
  lowestHeight: number | undefined;
  /** Least height that an answer was given at; a node behind the head has not shown everything up to it. */
  shownTo: number;
}>;

/** The search context of a network. */
export function searchContext({ actionModule, addressPrefix }: NetworkProfile): SearchContext {
  return { account: moduleAccount(actionModule, addressPrefix), prefix: addressPrefix };
}

const pageSize = 100;
const mostPages = 20_000;
const mostPrunings = 5;

const eventOf: Readonly<Record<Step, string>> = {
  register: 'action_registered',
  finalize: 'action_finalized',
  approve: 'action_approved',
};

/**
 * All transactions of a step at or above a height and not above another.
 *
 * Where the node has pruned the lower ones, the bound rises to its lowest height. A search that repeats itself fails.
 */
export async function searchSteps(
  session: ChainSession,
  search: Search,
  context: SearchContext,
): Promise<SearchResult> {
  const found = new Findings(search);
  let { from } = search;
  for (let prunings = 0; ; prunings++) {
    try {
      await walk(session, { ...search, from }, { ...context, found });
      return found.result();
    } catch (caught) {
      const lowest = caught instanceof ChainFailure ? caught.lowestHeight : undefined;
      if (lowest === undefined || lowest <= from || prunings === mostPrunings) throw caught;
      from = lowest;
      found.lowestHeight = lowest;
    }
  }
}

async function walk(
  session: ChainSession,
  { step, from, to, action }: Search,
  context: SearchContext & { found: Findings },
): Promise<void> {
  const which = action === undefined ? `${eventOf[step]}.action_id EXISTS` : `${eventOf[step]}.action_id='${action}'`;
  const seen = new Set<string>();
  for (let page = 1; page <= mostPages; page++) {
    const query = {
      query: `${which} AND tx.height>=${from}`,
      order_by: 'ORDER_BY_ASC',
      limit: String(pageSize),
      page: String(page),
    };
    const { body, height } = await session.get('/cosmos/tx/v1beta1/txs', { query });
    const answer = asObject(body);
    const responses: unknown = answer?.['tx_responses'];
    if (!Array.isArray(responses))
      throw new ChainFailure('bad_answer', `The search for ${eventOf[step]} answers without a list of transactions`);
    const reached = context.found.add(responses, height, context);
    if (reached !== undefined) context.onHeight?.(Math.min(reached, to));
    const before = seen.size;
    for (const one of responses) seen.add(String(asObject(one)?.['txhash']));
    const total = Number(answer?.['total'] ?? 0);
    if (responses.length === 0 || page * pageSize >= total || (reached !== undefined && reached > to)) return;
    if (seen.size === before)
      throw new ChainFailure('bad_answer', `The search for ${eventOf[step]} gives the same page again`);
  }
  throw new ChainFailure('bad_answer', `The search for ${eventOf[step]} does not end`);
}

/** What the pages of a search add up to. */
class Findings {
  lowestHeight: number | undefined;
  readonly #search: Search;
  readonly #steps = new Map<string, ActionStep>();
  readonly #unread = new Map<string, string>();
  readonly #unreadable = new Map<string, string>();
  #shownTo: number;

  constructor(search: Search) {
    this.#search = search;
    this.#shownTo = search.to;
  }

  /** Takes in a page; gives back the greatest height on it. */
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
      if (one.step === step && (action === undefined || one.action === action))
        this.#steps.set(`${one.action} ${one.transaction.hash}`, one);
    }
    for (const one of unread) this.#unread.set(one.action, one.reason);
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
