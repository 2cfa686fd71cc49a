import type { ActionRecord } from '../../commands/sync/actions.ts';
import { type KnownAction, type Step, steps, stepsOf, stepsReached } from '../../commands/sync/action-states.ts';
import { ActionBook } from './action-book.ts';
import { createMetadataRecovery, type ReadAction, readAction, recordOf } from './action-reads.ts';
import type { ChainSession } from './client.ts';
import { ChainFailure } from './failure.ts';
import { pagesOf } from './listings.ts';
import { moduleAccount } from './profile.ts';
import { actionIdOf } from './records.ts';
import type { RoundContext, RoundOutcome } from './round.ts';
import { searchSteps, type SearchContext, type SearchResult } from './searches.ts';
import type { ActionStep } from './transactions.ts';

const overlapBlocks = 10;
const mostSingleReads = 40;
const pageSize = 100;
const mostBeyond = 1_000;
const longAgoBlocks = 100;

/**
 * Reads what is new about actions: transactions by height, records of the actions that they name, ids beyond the last, open
 * actions whose time has come, records that could not be read before (DESIGN section 4).
 *
 * The first round walks from the first block and reads the whole list. Where the node has pruned old blocks, their actions are recorded
 * from their records; once a node shows those blocks, the transactions are found then.
 */
export async function readActions(context: RoundContext): Promise<RoundOutcome> {
  const { known, log, cause } = context;
  const book = new ActionBook(log, cause, known);
  const range = await searchRange(context);
  const found = await searchAll(context, range.from);
  for (const { record, reason } of found.unreadable) book.skip(record, reason);

  const lowest = maximum(range.lowest, found.lowestHeight);
  const isWhole = known.completedHeight === undefined || range.isCut || found.lowestHeight !== undefined;
  const reader = new ActionsReader(context, book, found);
  if (isWhole) await reader.readList();
  await reader.readNew(isWhole);
  for (const { action, reason } of found.unread) book.leaveUnread(action, reason);
  return {
    facts: book.facts,
    skipped: book.skipped,
    learned: { ...book.learned, cursor: found.shownTo, ...(lowest === undefined ? {} : { lowestHeight: lowest }) },
  };
}

/** Where the search begins; `lowest` is the bound below which transactions stay unknown, `isCut` whether it was raised just now. */
type Range = Readonly<{ from: number; lowest: number | undefined; isCut: boolean }>;

/**
 * From the cursor less the overlap; from the first block on in the first round, and once the node shows blocks that were pruned before.
 *
 * A node that has pruned blocks which were never searched raises the bound: what it hides is then taken from the list of records.
 */
async function searchRange({ session, head, known }: RoundContext): Promise<Range> {
  const { lowestHeight: bound, completedHeight } = known;
  const first = completedHeight === undefined || bound !== undefined ? await lowestShown(session, 1) : undefined;
  const isReopened = bound !== undefined && first !== undefined && first < bound;
  if (completedHeight === undefined || isReopened) return { from: first ?? 1, lowest: first === 1 ? undefined : first, isCut: false };
  const from = Math.max(1, known.cursor - overlapBlocks);
  const shown = head.height - from > longAgoBlocks ? ((await lowestShown(session, from)) ?? from) : from;
  return shown > from ? { from: shown, lowest: shown, isCut: true } : { from, lowest: bound, isCut: false };
}

/** The lowest height that the node shows, where that is above a height; the height itself where its block is shown; undefined where the node does not tell. */
async function lowestShown(session: ChainSession, height: number): Promise<number | undefined> {
  try {
    await session.get(`/cosmos/base/tendermint/v1beta1/blocks/${height}`);
    return height;
  } catch (caught) {
    if (caught instanceof ChainFailure && caught.status !== undefined) return caught.lowestHeight;
    throw caught;
  }
}

function maximum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

async function searchAll({ session, profile, head, report }: RoundContext, from: number): Promise<SearchResult> {
  const heights: Record<Step, number> = { register: from, finalize: from, approve: from };
  const results = await Promise.all(
    steps.map((step) => {
      const onHeight = (height: number): void => {
        heights[step] = height;
        report({ source: 'actions', phase: 'searching', height: Math.min(...Object.values(heights)), head: head.height, records: 0 });
      };
      return searchSteps(session, { step, from, to: head.height }, { ...searchContext(profile), onHeight }).then((result) => {
        heights[step] = head.height;
        return result;
      });
    }),
  );
  return {
    steps: results.flatMap((result) => result.steps),
    unread: results.flatMap((result) => result.unread),
    unreadable: results.flatMap((result) => result.unreadable),
    lowestHeight: results.map((result) => result.lowestHeight).reduce(maximum),
    shownTo: Math.min(...results.map((result) => result.shownTo)),
  };
}

function searchContext({ actionModule, addressPrefix }: RoundContext['profile']): SearchContext {
  return { account: moduleAccount(actionModule, addressPrefix), prefix: addressPrefix };
}

/** Brings together the transactions found and the records read, and has them recorded. */
class ActionsReader {
  readonly #context: RoundContext;
  readonly #book: ActionBook;
  readonly #found = new Map<string, ActionStep[]>();
  readonly #recover: ReturnType<typeof createMetadataRecovery>;
  #records = 0;

  constructor(context: RoundContext, book: ActionBook, found: SearchResult) {
    this.#context = context;
    this.#book = book;
    this.#recover = createMetadataRecovery({ session: context.session, prefix: context.profile.addressPrefix });
    for (const step of found.steps) this.#found.set(step.action, [...(this.#found.get(step.action) ?? []), step]);
  }

  /** Records the whole list, a page at a time. */
  async readList(): Promise<void> {
    for await (const read of this.#listed()) {
      for (const id of read.keys()) this.#book.raiseLast(id);
      await this.#record(read, { isSearched: true });
    }
  }

  /** Records what transactions, following ids, expiries and unread records name; after the whole list only what it left out. */
  async readNew(isAfterList: boolean): Promise<void> {
    const { head } = this.#context;
    const book = this.#book;
    const known = await book.known([...this.#found.keys()]);
    const named = [...this.#found].filter(([id, found]) => hasNews(found, known.get(id))).map(([id]) => id);
    const beyond = isAfterList ? new Map<string, ReadAction>() : await this.#readBeyond();
    const wanted = new Set([...named, ...(isAfterList ? [] : [...book.due(head.time), ...book.unread])]);
    for (const id of beyond.keys()) wanted.delete(id);
    await this.#record(new Map([...beyond, ...(await this.#readSome(wanted))]), { isSearched: isAfterList });
  }

  /** Ids follow one another: those after the last are asked for until there is none. */
  async #readBeyond(): Promise<ReadonlyMap<string, ReadAction>> {
    const beyond = new Map<string, ReadAction>();
    while (beyond.size < mostBeyond) {
      const id = String(this.#book.last + 1n);
      if (!this.#found.has(id)) {
        const read = await readAction(this.#readContext(), id);
        if ('reason' in read && read.isMissing) break;
        beyond.set(id, read);
      }
      this.#book.raiseLast(id);
    }
    return beyond;
  }

  async #readSome(wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, ReadAction>> {
    const pages = this.#book.last / BigInt(pageSize) + 1n;
    if (wanted.size <= mostSingleReads || pages >= BigInt(wanted.size)) {
      return new Map(await Promise.all([...wanted].map(async (id) => [id, await readAction(this.#readContext(), id)] as const)));
    }
    const some = new Map<string, ReadAction>();
    for await (const page of this.#listed()) {
      for (const [id, read] of page) if (wanted.has(id)) some.set(id, read);
    }
    for (const id of wanted) if (!some.has(id)) some.set(id, { reason: 'the chain does not list it', isMissing: true });
    return some;
  }

  async *#listed(): AsyncGenerator<ReadonlyMap<string, ReadAction>> {
    const { session, profile, head, report } = this.#context;
    for await (const page of pagesOf(session, { route: '~/action/v1/list_actions', field: 'actions', height: head.height, pageSize })) {
      const read = new Map<string, ReadAction>();
      for (const record of page) {
        const id = actionIdOf(record);
        if (id === undefined) this.#book.skip('an action', 'its id is no id');
        else read.set(id, recordOf(record, id, profile.addressPrefix));
      }
      this.#records += page.length;
      report({ source: 'actions', phase: 'reading', height: head.height, head: head.height, records: this.#records });
      yield read;
    }
  }

  /** Hands records and transactions to the decider; `isSearched` where the search has shown all that the node shows. */
  async #record(read: ReadonlyMap<string, ReadAction>, { isSearched }: { isSearched: boolean }): Promise<void> {
    const known = await this.#book.known([...read.keys()]);
    const wasUnread = new Set(this.#book.unread);
    const commands = await Promise.all(
      [...read].map(async ([action, one]) => {
        const found = this.#found.get(action) ?? [];
        const { height } = this.#context.head;
        if ('reason' in one) {
          this.#book.leaveUnread(action, one.reason);
          return { action, height, record: undefined, found };
        }
        const before = known.get(action);
        const missing = isSearched ? [] : missingSteps(one.record, { before, found, wasUnread: wasUnread.has(action) });
        const all = [...found, ...(await this.#searchOne(action, missing))];
        return { action, height, record: await this.#whole(action, { record: one.record, before, found: all }), found: all };
      }),
    );
    await this.#book.record(commands);
  }

  async #searchOne(action: string, missing: readonly Step[]): Promise<readonly ActionStep[]> {
    const { session, profile, head } = this.#context;
    const search = (step: Step): Promise<SearchResult> => searchSteps(session, { step, from: 1, to: head.height, action }, searchContext(profile));
    return (await Promise.all(missing.map(search))).flatMap(({ steps: found }) => found);
  }

  /** The record with the metadata that the chain has emptied, where the log does not have it already. */
  async #whole(action: string, { record, before, found }: { record: ActionRecord; before: KnownAction | undefined; found: readonly ActionStep[] }): Promise<ActionRecord> {
    if (record.metadata !== '' || (before?.dataHash ?? '') !== '') return record;
    return this.#recover(action, record, found.find(({ dataHash }) => dataHash !== '')?.dataHash ?? '');
  }

  #readContext(): { session: ChainSession; height: number; prefix: string } {
    const { session, head, profile } = this.#context;
    return { session, height: head.height, prefix: profile.addressPrefix };
  }
}

function hasNews(found: readonly ActionStep[], known: KnownAction | undefined): boolean {
  return found.some(({ step, transaction }) => !known?.transactions.some((one) => one.step === step && one.hash === transaction.hash));
}

/** The steps that the record shows, that no transaction at hand tells of, and that the log has not recorded before. */
function missingSteps(record: ActionRecord, { before, found, wasUnread }: { before: KnownAction | undefined; found: readonly ActionStep[]; wasUnread: boolean }): readonly Step[] {
  const recorded = before === undefined || wasUnread ? [] : stepsReached(before.reached);
  return stepsOf(record.chainState).filter((step) => !recorded.includes(step) && !found.some((one) => one.step === step));
}
