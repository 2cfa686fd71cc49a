import { describe, it } from 'vitest';
import { operating, type OperationEnd, type OperationRequest } from '../../../src/commands/ops/operating.ts';
import { given } from '../../support/histories/given.ts';

const operation = 'a1';
const request: OperationRequest = {
  step: 'request',
  operation,
  idempotencyKey: 'first',
  act: 'rebuild',
  target: 'actions',
  operator: { via: 'socket', name: 'annals' },
  startedAt: '2026-11-25T13:00:00.000Z',
  holder: 'host-7.0a',
};
const done: OperationEnd = { step: 'complete', operation, result: { generation: 2 } };
const interrupted: OperationEnd = { step: 'interrupt', operation, reason: 'its process is gone' };

describe('operating', () => {
  it('records a request with its act, its operator and its key, once', () => {
    const { emits } = given(operating).when(request);
    emits([{ type: 'OperationRequested', data: { operation, idempotencyKey: 'first', known: { status: 'running' } } }]);
    given(operating)
      .when(request, { ...request, act: 'back' })
      .emits([]);
  });

  it('ends an act in each of its forms, once, with what the request said', () => {
    const known = { act: 'rebuild', target: 'actions', operator: { via: 'socket', name: 'annals' } };
    const ends = [
      [done, { type: 'OperationCompleted', data: { result: '{"generation":2}' } }, 'succeeded'],
      [
        { step: 'fail', operation, code: 'NOT_FOUND', message: 'none' },
        { type: 'OperationFailed', data: { message: 'none' } },
        'failed',
      ],
      [{ step: 'cancel', operation }, { type: 'OperationCancelled' }, 'cancelled'],
      [interrupted, { type: 'OperationInterrupted', data: { reason: 'its process is gone' } }, 'interrupted'],
    ] as const;
    for (const [end, fact, status] of ends) {
      given(operating).when(request, end).emits([fact]);
      given(operating)
        .when(request, end)
        .emits([{ data: { known: { ...known, status } } }]);
      given(operating).when(request, end, interrupted).emits([]);
    }
    given(operating).when(request, done, { step: 'cancel', operation }).emits([]);
  });

  it('lets an act end that was taken for interrupted, and knows no end without a request', () => {
    given(operating)
      .when(request, interrupted, done)
      .emits([{ data: { known: { status: 'succeeded' } } }]);
    given(operating).when(done).emits([]);
  });
});
