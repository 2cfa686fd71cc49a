import type { Fact } from '../../events/catalogue.ts';
import type { Step } from './action-states.ts';
import type { ChainState } from '../../events/words.ts';

type Registered = Fact<'ActionRegistered'>['data'];

/** A transaction that takes an action one step on, as the chain's search shows it. */
export type FoundStep = Readonly<{
  step: Step;
  transaction: NonNullable<Registered['transaction']>;
  /** Of a finalize: what the action module paid for this action. */
  payments: Fact<'ActionFinalized'>['data']['payments'];
  /** Of a finalize: the accounts that it names. */
  accounts: readonly string[];
}>;

/** An action as the chain keeps it. */
export type ActionRecord = Readonly<
  Pick<Registered, 'kind' | 'height' | 'price' | 'fileSizeKbs' | 'metadata'> & {
    creator: string;
    /** Empty where neither the record nor anything else tells it. */
    dataHash: string;
    chainState: ChainState;
    expiresAt: string | undefined;
    accounts: readonly string[];
  }
>;

/** What one round of sync read about one action. */
export type RecordAction = Readonly<{
  action: string;
  /** Of the chain's head that the round works at. */
  height: number;
  /** Absent where it could not be read. */
  record: ActionRecord | undefined;
  found: readonly FoundStep[];
}>;
