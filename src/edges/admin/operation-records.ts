import { createHash, randomUUID } from 'node:crypto';
import type { Recorded } from '../../commands/ports.ts';
import {
  EndOperations,
  type KnownOperation,
  type OperationEnd,
  type OperationRequest,
  RequestOperations,
} from '../../commands/ops/operating.ts';
import { catalogue, type FactOf } from '../../events/catalogue.ts';
import type { Log } from '../../engine/log/log.ts';
import { AppError, errorCodes } from '../../kit/errors.ts';
import { dispatch } from '../bus.ts';
import type { ErrorBody } from '../http/errors.ts';

/** The states of an operation. */
export const operationStatuses = ['running', 'succeeded', 'failed', 'cancelled', 'interrupted'] as const;

/** How far an operation is: so many of about so many; `etaSeconds` where that can be estimated. */
export type OperationProgress = Readonly<{ done: number; total: number; etaSeconds: number | null }>;

/** Who requested an act: on the socket, by the command line, or with a token, which has a name. */
export type ActOperator = KnownOperation['operator'];

/** An operator's act: what it is of, who works on it, how far it is, and its result or its error. */
export type Operation = Readonly<{
  id: string;
  act: string;
  target: string;
  operator: ActOperator;
  holder: string;
  status: (typeof operationStatuses)[number];
  startedAt: string;
  endedAt: string | null;
  progress: OperationProgress | null;
  result: object | null;
  /** With its detail: it is for the operator. */
  error: ErrorBody | null;
}>;

/** An act on a target as an operator requests it, at most once for each key. */
export type Act = Readonly<{ act: string; target: string; operator: ActOperator; key?: string | undefined }>;

/** Operators' acts as facts of the log; what this process adds to them is their progress. */
export type OperationRecords = Readonly<{
  /** Appends the request; `isNew` is false where the operation was requested before, and nothing is appended then. */
  request: (id: string, act: Act, holder: string) => Promise<Readonly<{ isNew: boolean; known: KnownOperation }>>;
  /** Appends how it ended, unless it has ended. */
  end: (end: OperationEnd) => Promise<void>;
  /** Undefined where there is none. */
  find: (id: string) => Promise<Operation | undefined>;
  /** Those of the last facts, the last ones first. */
  latest: () => Promise<readonly Operation[]>;
}>;

/** Facts that a list is made of: each operation has two. */
const mostFacts = 400;

/** Operators' acts in a log. */
export function createOperationRecords(
  log: Pick<Log, 'append' | 'last' | 'confirmedLast' | 'latest'>,
  clock: () => number,
): OperationRecords {
  const now = (): string => new Date(clock()).toISOString();
  return {
    request: async (operation, { act, target, operator, key }, holder) => {
      const at = now();
      const request: OperationRequest = {
        step: 'request',
        operation,
        idempotencyKey: key,
        act,
        target,
        operator,
        holder,
        startedAt: at,
      };
      const { facts, states } = await dispatch(log, new RequestOperations(new Map([[operation, request]]), { at }));
      const known = states.get(operation)?.state;
      if (known === undefined) throw new AppError('INTERNAL', `The request of operation ${operation} is not known`);
      return { isNew: facts > 0, known };
    },
    end: async (end) => {
      await dispatch(log, new EndOperations(new Map([[end.operation, end]]), { at: now() }));
    },
    find: async (id) => {
      const last = await log.confirmedLast('operation', id);
      return last && operationFrom(last);
    },
    latest: async () => {
      const operations = new Map<string, Operation>();
      for (const recorded of await log.latest('operation', mostFacts)) {
        const one = operationFrom(recorded);
        if (one) operations.set(one.id, one);
      }
      return [...operations.values()].toSorted((a, b) => b.startedAt.localeCompare(a.startedAt));
    },
  };
}

/** The operation of an `Idempotency-Key`, the same in every process and after every restart; else a new one. */
export function operationId(key: string | undefined): string {
  if (key === undefined) return randomUUID();
  const hex = createHash('sha256').update(key).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/** An operation as its last fact has it. */
function operationFrom({ fact: recorded, time }: Recorded): Operation | undefined {
  if (catalogue[recorded.type].kind !== 'operation') return undefined;
  const fact = recorded as FactOf<'operation'>;
  const state = (operation: string, known: KnownOperation): Operation => {
    const { act, target, operator, holder, startedAt } = known;
    const status = operationStatuses.find((one) => one === known.status) ?? 'failed';
    const endedAt = status === 'running' ? null : time;
    const id = operation;
    return { id, act, target, operator, holder, status, startedAt, endedAt, progress: null, result: null, error: null };
  };
  switch (fact.type) {
    case 'OperationRequested':
      return state(fact.data.operation, fact.data.known);
    case 'OperationCancelled': {
      const error = { error: 'An operator cancelled it', code: 'CANCELLED' } as const;
      return { ...state(fact.data.operation, fact.data.known), error };
    }
    case 'OperationCompleted':
      return { ...state(fact.data.operation, fact.data.known), result: JSON.parse(fact.data.result) as object };
    case 'OperationFailed': {
      const code = errorCodes.find((one) => one === fact.data.code) ?? 'INTERNAL';
      return { ...state(fact.data.operation, fact.data.known), error: { error: fact.data.message, code } };
    }
    case 'OperationInterrupted': {
      const error = { error: fact.data.reason, code: 'UNAVAILABLE' } as const;
      return { ...state(fact.data.operation, fact.data.known), error };
    }
  }
}
