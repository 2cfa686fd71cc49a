import type { Kind } from '../events/streams.ts';
import type { Command, Decider } from './decider.ts';
import { AppError } from '../kit/errors.ts';
import { handle, type Handled } from './handle.ts';
import type { FactLog } from './ports.ts';
import { AdministerHooks, administering } from './hooks/administering.ts';
import { delivering, RecordDeliveries } from './hooks/delivering.ts';
import { AdvanceChain, sealing } from './ledger/sealing.ts';
import { settling, SettleSubmissions, submitting, SubmitTransactions } from './ledger/submit.ts';
import { banning, RecordBans } from './node/bans.ts';
import { RecordFiles, storing } from './node/files.ts';
import { EndOperations, operating, RequestOperations } from './ops/operating.ts';
import { probing, RecordProbes } from './probing.ts';
import { CloseNodeDays, closing } from './uptime/closing.ts';
import { resuming, ResumeTransfers } from './transfers/resume.ts';
import { RequestTransfer, requestTransfer } from './transfers/request.ts';
import { RecordRetrievals, RecordTransfers, retrieving, transferring } from './transfers/steps.ts';
import { actions, RecordActions } from './sync/actions.ts';
import { CompleteRound, FailRound, IdentifyChain, RequestSync } from './sync/round-commands.ts';
import { syncing } from './sync/sources.ts';
import { RecordSuperNodes, RecordValidators, supernodes, validators } from './sync/listed.ts';

type CommandClass<Input, State> = abstract new (...input: never[]) => Command<Input, State>;

/** A command of the table, and what carries it out over a log. */
type CommandEntry = Readonly<{
  command: abstract new (...options: never[]) => object;
  carryOut: (log: FactLog, command: object) => Promise<Handled<unknown>>;
}>;

/** Every command there is, with the decider that decides it. */
export const commands: readonly CommandEntry[] = [
  ...decidedBy(actions, RecordActions),
  ...decidedBy(supernodes, RecordSuperNodes),
  ...decidedBy(validators, RecordValidators),
  ...decidedBy(syncing, IdentifyChain, CompleteRound, FailRound, RequestSync),
  ...decidedBy(probing, RecordProbes),
  ...decidedBy(closing, CloseNodeDays),
  ...decidedBy(storing, RecordFiles),
  ...decidedBy(banning, RecordBans),
  ...decidedBy(administering, AdministerHooks),
  ...decidedBy(delivering, RecordDeliveries),
  ...decidedBy(sealing, AdvanceChain),
  ...decidedBy(submitting, SubmitTransactions),
  ...decidedBy(settling, SettleSubmissions),
  ...decidedBy(transferring, RecordTransfers),
  ...decidedBy(retrieving, RecordRetrievals),
  ...decidedBy(resuming, ResumeTransfers),
  ...decidedBy(operating, RequestOperations, EndOperations),
  { command: RequestTransfer, carryOut: requestTransfer },
];

function decidedBy<Options, State, K extends Kind>(
  decider: Decider<Options, State, K>,
  ...classes: readonly CommandClass<Options, State>[]
): CommandEntry[] {
  return classes.map((one) => ({
    command: one,
    async carryOut(log, command) {
      if (!(command instanceof one)) throw new AppError('INTERNAL', `${one.name} was expected to be carried out`);
      const { given, cause, known } = command;
      return await handle(log, decider, given, { ...cause, known });
    },
  }));
}
