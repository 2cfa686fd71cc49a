import type { Fact } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/** The known state of an operator's act. */
export type KnownOperation = Fact<'OperationRequested'>['data']['known'];

/** An act that an operator requested, and the process that is about to work on it. */
export type OperationRequest = Readonly<{ step: 'request'; operation: string; idempotencyKey?: string | undefined }> &
  Omit<KnownOperation, 'status'>;

/** How the work of an act ended. */
export type OperationEnd = Readonly<{ operation: string }> &
  (
    | Readonly<{ step: 'complete'; result: object }>
    | Readonly<{ step: 'fail'; code: string; message: string }>
    | Readonly<{ step: 'cancel' }>
    | Readonly<{ step: 'interrupt'; reason: string }>
  );

type State = KnownOperation | undefined;

/**
 * An act is requested once and ends once: a second request of the same operation decides nothing.
 *
 * One that was taken for interrupted, because its process was not seen for a while, may end otherwise still.
 */
export const operating: Decider<OperationRequest | OperationEnd, State, 'operation'> = {
  kind: 'operation',
  initialState: undefined,
  after: ({ data: { known } }) => known,
  decide(command, known) {
    const { operation } = command;
    if (command.step === 'request') {
      if (known !== undefined) return [];
      const { act, target, operator, startedAt, holder, idempotencyKey } = command;
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const requested: KnownOperation = { act, target, operator, startedAt, holder, status: 'running' };
      return [{ type: 'OperationRequested', data: { operation, ...key, known: requested } }];
    }
    if (known === undefined) return [];
    const mayEnd = known.status === 'running' || (known.status === 'interrupted' && command.step !== 'interrupt');
    return mayEnd ? [endOf(command, known)] : [];
  },
};

function endOf(end: OperationEnd, before: KnownOperation): Fact<EndType> {
  const { operation } = end;
  const known = (status: string): KnownOperation => ({ ...before, status });
  switch (end.step) {
    case 'complete':
      return {
        type: 'OperationCompleted',
        data: { operation, result: JSON.stringify(end.result), known: known('succeeded') },
      };
    case 'fail':
      return {
        type: 'OperationFailed',
        data: { operation, code: end.code, message: end.message, known: known('failed') },
      };
    case 'cancel':
      return { type: 'OperationCancelled', data: { operation, known: known('cancelled') } };
    case 'interrupt':
      return { type: 'OperationInterrupted', data: { operation, reason: end.reason, known: known('interrupted') } };
  }
}

type EndType = 'OperationCompleted' | 'OperationFailed' | 'OperationCancelled' | 'OperationInterrupted';

/** Acts that an operator requested, each before its work starts. */
export class RequestOperations extends Command<OperationRequest, State> {}

/** The ends of operators' acts. */
export class EndOperations extends Command<OperationEnd, State> {}
