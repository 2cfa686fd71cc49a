import { Code } from '@connectrpc/connect';
import { afterEach, describe, expect, it } from 'vitest';
import { createStays } from '../../../src/edges/node/cascade/finalize.ts';
import type { CascadeChain } from '../../../src/edges/cascade/chain.ts';
import { bytesOf, pendingAction, upload } from './files-under-test.ts';
import { networkUnderTest } from './network-under-test.ts';

const undo = new AsyncDisposableStack();
afterEach(() => undo.disposeAsync());

describe('an upload under way', () => {
  it('is a running task until it ends, and keeps a second one out', { tags: ['S1.status.tasks'] }, async () => {
    const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 2, { repairEachMs: 600_000 });
    const [one, slow] = cast;
    if (!one || !slow) throw new Error('the cast has two');
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await impersonate(slow, async (ask) => {
      if (ask.case !== 'putPiece') return { done: true };
      asked.resolve();
      await goOn.promise;
      return { done: true };
    });
    const node = await start(one);
    const running = async () => {
      const answer = await fetch(`${node.http}/api/v1/status`);
      return ((await answer.json()) as { running_tasks: unknown }).running_tasks;
    };
    const file = bytesOf('t', 1_000);
    const actionId = await pendingAction(ledger, file);
    const first = upload(node.grpc, actionId, file);
    await asked.promise;
    expect(await running()).toEqual([{ service_name: 'cascade.upload', task_ids: [actionId], task_count: 1 }]);
    await expect(upload(node.grpc, actionId, file)).rejects.toMatchObject({ code: Code.AlreadyExists });
    goOn.resolve();
    expect((await first).at(-1)?.eventType).toBe(12);
    expect(await running()).toEqual([]);
  });
});

describe('a stored file', () => {
  it.each([
    ['pending', false],
    ['expired', false],
    ['done', true],
    ['approved', true],
    ['failed', true],
    ['unknown to the chain', true],
    ['of a chain out of reach', true],
  ])('stays or is forgotten as the chain says: %s', { tags: ['S1.storage.expired'] }, async (state, isKept) => {
    const action = async (): Promise<unknown> => {
      if (state.startsWith('of a chain')) throw new Error('out of reach');
      return state.startsWith('unknown') ? undefined : { record: { chainState: state } };
    };
    const stays = createStays({ action: action as CascadeChain['action'] });
    expect([await stays('7'), await stays('7')]).toEqual([isKept, isKept]);
  });
});
