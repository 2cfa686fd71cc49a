import { Code } from '@connectrpc/connect';
import { afterEach, describe, expect, it } from 'vitest';
import { bytesOf, pendingAction, upload } from '../files-under-test.ts';
import { networkUnderTest } from '../network-under-test.ts';

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
