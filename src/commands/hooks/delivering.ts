import type { FactOf } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';
import {
  changed,
  type DeliveryFailure,
  type DisabledReason,
  hookAfter,
  type HookPosition,
  type KnownHook,
  type WaitingEntity,
} from './hook-state.ts';

/** What one process has sent of a hook since it recorded that last, and where it is now. */
export type RecordedDeliveries = Readonly<{
  hook: string;
  at: string;
  /** The epoch under which it was sent: what an operator did since counts more. */
  epoch: number;
  positions: readonly HookPosition[];
  waiting: readonly WaitingEntity[];
  pausedUntil: string | undefined;
  delivered: number;
  failed: number;
  /** The last ones of those that failed. */
  failures: readonly DeliveryFailure[];
  /** Why nothing more is sent. */
  end: Exclude<DisabledReason, 'operator'> | undefined;
}>;

type State = KnownHook | undefined;

/** Records a batch of deliveries: one fact for what was acknowledged, one for what was not, one for the end. */
export const delivering: Decider<RecordedDeliveries, State, 'hook'> = {
  kind: 'hook',
  initialState: undefined,
  after: hookAfter,
  decide: (command, state) => {
    if (state?.status !== 'enabled' || state.epoch !== command.epoch) return [];
    const facts: FactOf<'hook'>[] = [];
    const { hook, at, delivered, failed, failures, end } = command;
    let known = changed(state, {
      positions: command.positions,
      waiting: command.waiting,
      pausedUntil: command.pausedUntil,
      delivered: state.delivered + delivered,
      failed: state.failed + failed,
      lastDeliveredAt: delivered > 0 ? at : state.lastDeliveredAt,
      lastFailure: failures.at(-1) ?? state.lastFailure,
    });
    if (delivered > 0 || failed === 0) facts.push({ type: 'DeliveriesMade', data: { hook, at, delivered, known } });
    if (failed > 0) facts.push({ type: 'DeliveriesFailed', data: { hook, at, failures, known } });
    if (end !== undefined) {
      known = changed(known, { status: 'disabled', disabledReason: end, epoch: known.epoch + 1 });
      facts.push({ type: 'HookDisabled', data: { hook, at, reason: end, known } });
    }
    return facts;
  },
};

/** Records what was sent of hooks. */
export class RecordDeliveries extends Command<RecordedDeliveries, State> {}
