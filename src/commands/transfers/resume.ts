import { Command, type Decider } from '../decider.ts';
import type { KnownTransfer } from './steps.ts';

/** A task that another process resumes after the process that ran it is gone. */
export type Resumption = Readonly<{
  task: string;
  /** The process that is gone; undefined for tasks that name none. */
  from: string | undefined;
  holder: string;
  /** The store of bytes that a download is fetched into from now on; an upload's bytes lie where they are. */
  store: string;
}>;

type State = KnownTransfer | undefined;

/** Passes an open task on, once: nothing where it has ended or another process was first. */
export const resuming: Decider<Resumption, State, 'transfer'> = {
  kind: 'transfer',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide: ({ task, from, holder, store }, known) => {
    if (known === undefined || known.ended || known.holder !== from) return [];
    const now = { ...known, holder, store: known.direction === 'download' ? store : known.store };
    return [{ type: 'TransferResumed', data: { task, known: now } }];
  },
};

/**
 * Transfers that another process resumes; those of private files cannot resume, for no other process has their
 * signature.
 */
export class ResumeTransfers extends Command<Resumption, State> {}
