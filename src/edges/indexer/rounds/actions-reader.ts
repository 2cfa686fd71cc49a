import {
  type ActionRecord,
  type KnownAction,
  knowsTransaction,
  type Step,
  stepsOf,
  stepsReached,
} from '../../../commands/sync/action-states.ts';
import type { ActionTracker } from './action-tracker.ts';
import { createMetadataRecovery, type ReadAction, readAction, recordOf } from '../../chain/rest/action-reads.ts';
import { ChainFailure } from '../../chain/rest/failure.ts';
import { pagesOf } from '../../chain/rest/listings.ts';
import { actionIdOf } from '../../chain/rest/records.ts';
import type { RoundContext } from './round.ts';
import { searchContext, searchSteps, type SearchResult } from '../../chain/rest/searches.ts';
import type { ActionStep } from '../../chain/rest/transactions.ts';

const mostSingleReads = 40;
const pageSize = 100;
const mostBeyond = 1_000;
const mostRefused = 10;

/** Joins the transactions of a search with the records, and has them recorded. */
export class ActionsReader {
  readonly #context: RoundContext;
  readonly #tracker: ActionTracker;
  readonly #found = new Map<string, ActionStep[]>();
  readonly #recover: ReturnType<typeof createMetadataRecovery>;
  #records = 0;
  #refused = 0;

  constructor(context: RoundContext, tracker: ActionTracker, match: SearchResult) {
    this.#context = context;
    this.#tracker = tracker;
    this.#recover = createMetadataRecovery({ session: context.session, prefix: context.profile.addressPrefix });
    for (const step of match.steps) this.#found.set(step.action, [...(this.#found.get(step.action) ?? []), step]);
  }

  /** Records the complete list, a page at a time. An id far from all others does not count as the last one. */
  async readList(isFirst: boolean): Promise<void> {
    const listed = new Set<string>();
    for await (const read of this.#listed()) {
      for (const id of read.keys()) listed.add(id);
      await this.#record(read, isFirst);
    }
    for (const id of listed) if (id === '1' || listed.has(String(BigInt(id) - 1n))) this.#tracker.raiseLast(id);
    this.#tracker.knowsAll();
  }

  /**
   * Records what transactions, following ids, expiries and unread records name; after the complete list only what it
   * left out.
   */
  async readNew({ isAfterList, isFirst }: { isAfterList: boolean; isFirst: boolean }): Promise<void> {
    const { head } = this.#context;
    const tracker = this.#tracker;
    const known = await tracker.known([...this.#found.keys()]);
    for (const [id, one] of known) tracker.notice(id, one);
    const named = [...this.#found].filter(([id, result]) => hasNews(result, known.get(id))).map(([id]) => id);
    const beyond = isAfterList ? new Map<string, ReadAction>() : await this.#readBeyond();
    const wanted = new Set([...named, ...(isAfterList ? [] : [...tracker.due(head.time), ...tracker.unread])]);
    for (const id of beyond.keys()) wanted.delete(id);
    await this.#record(new Map([...beyond, ...(await this.#readSome(wanted))]), isFirst);
  }

  /** Ids are consecutive: this requests those after the last until one is missing. */
  async #readBeyond(): Promise<ReadonlyMap<string, ReadAction>> {
    const beyond = new Map<string, ReadAction>();
    while (beyond.size < mostBeyond) {
      const id = String(this.#tracker.last + 1n);
      if (!this.#found.has(id)) {
        const read = await this.#readOne(id);
        if ('reason' in read && read.why === 'missing') break;
        beyond.set(id, read);
      }
      this.#tracker.raiseLast(id);
    }
    return beyond;
  }

  async #readSome(wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, ReadAction>> {
    const pages = this.#tracker.last / BigInt(pageSize) + 1n;
    if (wanted.size <= mostSingleReads || pages >= BigInt(wanted.size)) {
      return new Map(await Promise.all([...wanted].map(async (id) => [id, await this.#readOne(id)] as const)));
    }
    const some = new Map<string, ReadAction>();
    for await (const page of this.#listed()) {
      for (const [id, read] of page) if (wanted.has(id)) some.set(id, read);
    }
    for (const id of wanted) if (!some.has(id)) some.set(id, { reason: 'the chain does not list it', why: 'missing' });
    return some;
  }

  async *#listed(): AsyncGenerator<ReadonlyMap<string, ReadAction>> {
    const { session, profile, head, report } = this.#context;
    for await (const page of pagesOf(session, {
      route: '~/action/v1/list_actions',
      field: 'actions',
      height: head.height,
      pageSize,
      leaveOut: (reason) => this.#tracker.skip('an action', reason),
    })) {
      const read = new Map<string, ReadAction>();
      for (const record of page) {
        const id = actionIdOf(record);
        if (id === undefined) this.#tracker.skip('an action', 'its id is no id');
        else read.set(id, recordOf(record, id, profile.addressPrefix));
      }
      this.#records += page.length;
      report({ source: 'actions', phase: 'reading', height: head.height, head: head.height, records: this.#records });
      yield read;
    }
  }

  /**
   * Hands records and transactions to the decider. It searches for steps that no transaction at hand explains, except
   * in the first round, which has seen all.
   */
  async #record(read: ReadonlyMap<string, ReadAction>, isFirst: boolean): Promise<void> {
    const known = await this.#tracker.known([...read.keys()]);
    const wasUnread = new Set(this.#tracker.unread);
    const commands = await Promise.all(
      [...read].map(async ([action, one]) => {
        const hit = this.#found.get(action) ?? [];
        const { height } = this.#context.head;
        if ('reason' in one) {
          this.#tracker.leaveUnread(action, one.reason);
          return { action, height, record: undefined, found: hit };
        }
        const before = known.get(action);
        const missing = isFirst
          ? []
          : missingSteps(one.record, { before, found: hit, wasUnread: wasUnread.has(action) });
        const all = [...hit, ...(await this.#searchOne(action, missing))];
        return {
          action,
          height,
          record: await this.#whole(action, { record: one.record, before, found: all }),
          found: all,
        };
      }),
    );
    await this.#tracker.record(commands);
  }

  async #searchOne(action: string, missing: readonly Step[]): Promise<readonly ActionStep[]> {
    const { session, profile, head } = this.#context;
    const search = (step: Step): Promise<SearchResult> =>
      searchSteps(session, { step, from: 1, to: head.height, action }, searchContext(profile));
    return (await Promise.all(missing.map(search))).flatMap(({ steps: found }) => found);
  }

  /** The record with the metadata that the chain has emptied, where the log does not have it already. */
  async #whole(
    action: string,
    { record, before, found }: { record: ActionRecord; before: KnownAction | undefined; found: readonly ActionStep[] },
  ): Promise<ActionRecord> {
    if (record.metadata !== '' || (before?.dataHash ?? '') !== '') return record;
    return this.#recover(action, record, found.find(({ dataHash }) => dataHash !== '')?.dataHash ?? '');
  }

  async #readOne(id: string): Promise<ReadAction> {
    const { session, head, profile } = this.#context;
    const read = await readAction({ session, height: head.height, prefix: profile.addressPrefix }, id);
    if ('reason' in read && read.why === 'refused') this.#refused += 1;
    if (this.#refused > mostRefused)
      throw new ChainFailure('bad_answer', 'The chain fails on too many actions to be about them');
    return read;
  }
}

function hasNews(found: readonly ActionStep[], known: KnownAction | undefined): boolean {
  return found.some(({ step, transaction }) => !knowsTransaction(known, step, transaction.hash));
}

/** The steps that the record shows, that no transaction at hand explains, and that the log has not recorded before. */
function missingSteps(
  record: ActionRecord,
  { before, found, wasUnread }: { before: KnownAction | undefined; found: readonly ActionStep[]; wasUnread: boolean },
): readonly Step[] {
  const recorded = before === undefined || wasUnread ? [] : stepsReached(before.reached);
  return stepsOf(record.chainState).filter(
    (step) => !recorded.includes(step) && !found.some((one) => one.step === step),
  );
}
