import type { Known } from '../../../commands/decider.ts';
import { knownFrom } from '../../../commands/handle.ts';
import type { Cause, FactLog } from '../../../commands/ports.ts';
import { isOpen, type KnownAction, knowsTransaction, type RecordAction } from '../../../commands/sync/action-states.ts';
import { actions, RecordActions } from '../../../commands/sync/actions.ts';
import { packOpen, unpackOpen } from '../../../commands/sync/open-actions.ts';
import type { KnownSource, RoundCompletion } from '../../../commands/sync/sources.ts';
import { dispatch } from '../../bus.ts';

/** Unread records that are remembered; where there may be more, the next round reads the complete list again. */
export const mostUnread = 100;

/**
 * Actions whose last fact is cached, some 40 MB: more than a round names, but for the first one, which is read by
 * pages.
 */
const mostCached = 50_000;

/** The most reasons that are stored; a round shows fewer. */
const mostSkipped = 100;

/** A round's writes of actions, and its state for the next round: open actions, unread records, the greatest id. */
export class ActionTracker {
  facts = 0;
  readonly #log: FactLog;
  readonly #cause: Cause;
  readonly #open: Map<string, string>;
  readonly #unread: Set<string>;
  readonly #skipped = new Map<string, string>();
  /** From when on the open actions are not known; undefined where all are. */
  #completeUntil: string | undefined;
  #last: bigint;
  /** The actions that this round read or wrote, the latest last. */
  readonly #cache = new Map<string, Known<KnownAction | undefined>>();

  constructor(log: FactLog, cause: Cause, known: KnownSource) {
    this.#log = log;
    this.#cause = cause;
    this.#open = known.openActions ? unpackOpen(known.openActions) : new Map();
    this.#completeUntil = known.openActions ? known.openActions.completeUntil : '';
    this.#unread = new Set(known.unread);
    this.#last = BigInt(known.lastAction ?? '0');
  }

  /** The log's state of these actions; each is read once in a round. */
  async known(ids: readonly string[]): Promise<ReadonlyMap<string, KnownAction>> {
    const unread = ids.filter((id) => !this.#cache.has(id));
    const last = unread.length === 0 ? undefined : await this.#log.last('action', unread);
    const read = new Map(unread.map((id) => [id, knownFrom(actions, id, last?.get(id))]));
    const all = new Map(
      ids.flatMap((id) => {
        const state = (read.get(id) ?? this.#cache.get(id))?.state;
        return state === undefined ? [] : [[id, state] as const];
      }),
    );
    this.#remember(read);
    return all;
  }

  /** Decides and appends, on what was read of the actions before; others are read. */
  async record(commands: readonly RecordAction[]): Promise<void> {
    if (commands.length === 0) return;
    const byAction = new Map(commands.map((command) => [command.action, command]));
    const { facts, states } = await dispatch(this.#log, new RecordActions(byAction, this.#cause, this.#cache));
    this.facts += facts;
    this.#remember(states);
    for (const { action, record, found } of commands) {
      if (record !== undefined) this.#unread.delete(action);
      const known = states.get(action)?.state;
      if (known === undefined) continue;
      this.notice(action, known);
      const left = found.filter(({ step, transaction }) => !knowsTransaction(known, step, transaction.hash)).length;
      if (left > 0) this.skip(action, `${left} of its transactions are not recorded: it has more than are kept`);
    }
  }

  #remember(known: ReadonlyMap<string, Known<KnownAction | undefined>>): void {
    for (const [id, one] of known) {
      this.#cache.delete(id);
      this.#cache.set(id, one);
    }
    for (const id of this.#cache.keys()) {
      if (this.#cache.size <= mostCached) return;
      this.#cache.delete(id);
    }
  }

  /** The open actions follow from the log, so that those of a round that was cut off are not forgotten. */
  notice(action: string, { chainState, expiresAt }: KnownAction): void {
    if (expiresAt !== undefined && isOpen(chainState)) this.#open.set(action, expiresAt);
    else this.#open.delete(action);
  }

  /** Remembers a record that could not be read, to be tried again each round. */
  leaveUnread(action: string, reason: string): void {
    this.skip(action, reason);
    if (this.#unread.size < mostUnread) this.#unread.add(action);
  }

  /** Records why something was left out. */
  skip(record: string, reason: string): void {
    if (this.#skipped.size < mostSkipped) this.#skipped.set(record, reason);
  }

  /** Raises the greatest id up to which the ids are known without a gap. */
  raiseLast(action: string): void {
    const id = BigInt(action);
    if (id > this.#last) this.#last = id;
  }

  get last(): bigint {
    return this.#last;
  }

  get unread(): readonly string[] {
    return [...this.#unread];
  }

  /**
   * Returns whether all open actions whose time has come by a block's time are known; else only the complete list shows
   * them.
   */
  knowsDue(blockTime: string): boolean {
    return this.#completeUntil === undefined || blockTime < this.#completeUntil;
  }

  /** Every action was recorded, so all that are open are known. */
  knowsAll(): void {
    this.#completeUntil = undefined;
  }

  /** Open actions whose time has come by a block's time. */
  due(blockTime: string): readonly string[] {
    return [...this.#open].filter(([, expiresAt]) => expiresAt <= blockTime).map(([action]) => action);
  }

  get skipped(): RoundCompletion['skipped'] {
    return [...this.#skipped].map(([record, reason]) => ({ record, reason }));
  }

  get learned(): Pick<RoundCompletion['learned'], 'openActions' | 'unread' | 'lastAction'> {
    return {
      openActions: packOpen(this.#open, { completeUntil: this.#completeUntil }),
      unread: this.unread,
      ...(this.#last === 0n ? {} : { lastAction: String(this.#last) }),
    };
  }
}
