import type { FactOf } from '../../events/catalogue.ts';
import type { ChainState } from '../../events/words.ts';
import { Command, type Decider } from '../decider.ts';
import {
  type ActionRecord,
  type StepMatch,
  isAhead,
  isFinal,
  type KnownAction,
  knowsTransaction,
  type RecordAction,
  type Step,
  stepsOf,
  stepsReached,
} from './action-states.ts';

type State = KnownAction | undefined;

/**
 * What happens to an action: each step once, in order, with the transactions that prove it (DESIGN section 4).
 *
 * An action that the log does not know gets every fact of it so far. A record behind what is known and a transaction
 * that is known decide nothing; another transaction of a step that was recorded is a fact of its own. Known values
 * stay: the data hash and the step reached outlive an emptied record and an expiry.
 */
export const actions: Decider<RecordAction, State, 'action'> = {
  kind: 'action',
  initialState: undefined,
  after: (fact) => fact.data.known,
  decide(command, state) {
    const { record } = command;
    if (state === undefined && record === undefined) return [];
    const builder = new FactBuilder(command, state);
    if (state === undefined && record !== undefined) builder.register(record);
    if (builder.hasTaken('finalize')) builder.finalize(state !== undefined);
    if (builder.hasTaken('approve')) builder.approve();
    builder.observe();
    builder.addTransactions();
    return builder.facts;
  },
};

/** Records one round's reading of some actions. */
export class RecordActions extends Command<RecordAction, State> {}

type ActionFact = FactOf<'action'>;

/** A fact without what is carried on, which `FactBuilder` adds. */
type Happening = ActionFact extends infer F
  ? F extends ActionFact
    ? { type: F['type']; data: Omit<F['data'], 'known' | 'action'> }
    : never
  : never;

/** Every fact of an action carries its transactions on; a real action has three or four. */
const mostTransactions = 100;

/**
 * The facts of one decision, and what is known after each of them.
 *
 * A mutable builder: each method may add facts. It lives as long as one call of `decide`, which stays pure.
 */
class FactBuilder {
  readonly facts: ActionFact[] = [];
  readonly #command: RecordAction;
  readonly #found: readonly StepMatch[];
  #known: KnownAction;

  constructor(command: RecordAction, state: KnownAction | undefined) {
    const { record } = command;
    this.#command = command;
    this.#found = command.found.toSorted((a, b) => a.transaction.height - b.transaction.height);
    const expiresAt = record?.expiresAt ?? state?.expiresAt;
    this.#known = {
      chainState: state?.chainState ?? 'pending',
      reached: state?.reached ?? 'registered',
      creator: state?.creator ?? record?.creator ?? '',
      dataHash: state?.dataHash || (record?.dataHash ?? ''),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      transactions: state?.transactions ?? [],
    };
  }

  /** Returns whether the record or a transaction shows a step that was not recorded yet. */
  hasTaken(step: Step): boolean {
    const { record } = this.#command;
    if (stepsReached(this.#known.reached).includes(step)) return false;
    const isInRecord =
      record !== undefined &&
      isAhead(record.chainState, this.#known.chainState) &&
      stepsOf(record.chainState).includes(step);
    return (
      isInRecord || this.#found.some((one) => one.step === step || (step === 'finalize' && one.step === 'approve'))
    );
  }

  register({ kind, height, price, fileSizeKbs, metadata }: ActionRecord): void {
    const first = this.#take('register');
    const at = height ?? first.transaction?.height;
    this.#add({
      type: 'ActionRegistered',
      data: {
        kind,
        ...(at === undefined ? {} : { height: at }),
        ...(price === undefined ? {} : { price }),
        fileSizeKbs,
        metadata,
        ...first,
      },
    });
  }

  finalize(isMetadataNews: boolean): void {
    const { record } = this.#command;
    const match = this.#found.find(({ step }) => step === 'finalize');
    this.#reach('finalized', 'done');
    const metadata =
      isMetadataNews && record !== undefined && record.metadata !== '' ? { metadata: record.metadata } : {};
    const accounts = record !== undefined && record.accounts.length > 0 ? record.accounts : (match?.accounts ?? []);
    this.#add({
      type: 'ActionFinalized',
      data: { accounts, payments: match?.payments ?? [], ...metadata, ...this.#take('finalize') },
    });
  }

  approve(): void {
    this.#reach('approved', 'approved');
    this.#add({ type: 'ActionApproved', data: this.#take('approve') });
  }

  /** Records a chain state that no step explains; an expired action keeps the step that it reached. */
  observe(): void {
    const { record, height } = this.#command;
    if (record === undefined || !isAhead(record.chainState, this.#known.chainState)) return;
    this.#known = { ...this.#known, chainState: record.chainState };
    if (record.chainState === 'expired') this.#add({ type: 'ActionExpired', data: { seenAtHeight: height } });
    else this.#add({ type: 'ActionStateObserved', data: { seenAtHeight: height } });
  }

  /** Records further transactions of steps that were recorded, as far as they fit. */
  addTransactions(): void {
    for (const { step, transaction, payments, accounts } of this.#found) {
      if (knowsTransaction(this.#known, step, transaction.hash)) continue;
      if (this.#known.transactions.length >= mostTransactions) return;
      this.#remember(step, transaction.hash);
      this.#add({ type: 'ActionTransactionFound', data: { step, transaction, payments, accounts } });
    }
  }

  #reach(reached: 'finalized' | 'approved', chainState: ChainState): void {
    this.#known = {
      ...this.#known,
      reached,
      chainState: isFinal(this.#known.chainState) ? this.#known.chainState : chainState,
    };
  }

  /** The first transaction of a step, which from now on is known; none where the chain shows none. */
  #take(step: Step): Pick<StepMatch, 'transaction'> | { transaction?: never } {
    const first = this.#found.find((one) => one.step === step);
    if (first === undefined) return {};
    this.#remember(step, first.transaction.hash);
    return { transaction: first.transaction };
  }

  #remember(step: Step, hash: string): void {
    this.#known = { ...this.#known, transactions: [...this.#known.transactions, { step, hash }] };
  }

  #add(happening: Happening): void {
    this.facts.push({
      type: happening.type,
      data: { action: this.#command.action, ...happening.data, known: this.#known },
    } as ActionFact);
  }
}
