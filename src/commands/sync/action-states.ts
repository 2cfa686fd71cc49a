import type { Fact } from '../../events/catalogue.ts';
import { type ChainState, chainStates } from '../../events/words.ts';

type Registered = Fact<'ActionRegistered'>['data'];

/** A transaction that takes an action one step on, as the chain's search shows it. */
export type StepMatch = Readonly<{
  step: Step;
  transaction: NonNullable<Registered['transaction']>;
  /** Of a finalize: what the action module paid for this action. */
  payments: Fact<'ActionFinalized'>['data']['payments'];
  /** Of a finalize: the accounts that it names. */
  accounts: readonly string[];
}>;

/** An action as the chain stores it. */
export type ActionRecord = Readonly<
  Pick<Registered, 'kind' | 'height' | 'price' | 'fileSizeKbs' | 'metadata'> & {
    creator: string;
    /** Empty where neither the record nor a transaction holds it. */
    dataHash: string;
    chainState: ChainState;
    expiresAt: string | undefined;
    accounts: readonly string[];
  }
>;

/** One round's reading of one action. */
export type RecordAction = Readonly<{
  action: string;
  /** Of the chain's head that the round works at. */
  height: number;
  /** Absent where it could not be read. */
  record: ActionRecord | undefined;
  found: readonly StepMatch[];
}>;

/** All that is known of an action; every fact of it carries this. */
export type KnownAction = Fact<'ActionRegistered'>['data']['known'];

/** The steps of an action that transactions prove. */
export const steps = ['register', 'finalize', 'approve'] as const;
export type Step = (typeof steps)[number];

/** How far along a state is: one read later is never lower. */
const rank: Readonly<Record<ChainState, number>> = {
  pending: 0,
  processing: 1,
  done: 2,
  approved: 3,
  rejected: 4,
  failed: 4,
  expired: 4,
};

/** Returns whether a state lies after what is known, so that it is news. */
export function isAhead(state: ChainState, known: string): boolean {
  return rank[state] > rankOf(known);
}

/** Returns whether nothing follows a state any more, as far as the chain's rules go. */
export function isFinal(known: string): boolean {
  return rankOf(known) >= rank.expired;
}

/** Returns whether an action in this state may still expire. */
export function isOpen(known: string): boolean {
  return rankOf(known) <= rank.processing;
}

function rankOf(known: string): number {
  const state = chainStates.find((one) => one === known);
  return state === undefined ? rank.pending : rank[state];
}

/** The steps that an action in this state has certainly completed. */
export function stepsOf(state: ChainState): readonly Step[] {
  if (state === 'approved') return steps;
  return state === 'done' ? ['register', 'finalize'] : ['register'];
}

/** The steps that were recorded, derived from the last one, which the fact holds. */
export function stepsReached(reached: string): readonly Step[] {
  if (reached === 'approved') return steps;
  return reached === 'finalized' ? ['register', 'finalize'] : ['register'];
}

/** Returns whether a transaction of a step is recorded of an action already. */
export function knowsTransaction(known: KnownAction | undefined, step: Step, hash: string): boolean {
  return known?.transactions.some((one) => one.step === step && one.hash === hash) ?? false;
}
