import type { RegisterRequest } from '../../gen/cascade/service_pb.ts';
import { isActionId } from '../../chain/rest/values.ts';
import { fileTooLarge } from '../../rpc/too-large.ts';
import { toAppError } from '../../../kit/errors.ts';
import type { ReceivedFile } from '../storage/draft.ts';
import { refusal, sayingNoRoom } from './refusals.ts';

const longestTaskId = 256;

/**
 * Reads the messages of a Register: writes chunks to the draft, and returns the metadata behind them.
 *
 * @returns the action id that the client names, which is one in form
 */
export async function receive(
  requests: AsyncIterable<RegisterRequest>,
  draft: ReceivedFile,
  maxFileBytes: number,
): Promise<string> {
  let actionId: string | undefined;
  for await (const { requestType } of untilAborted(requests, draft.signal)) {
    if (requestType.case === undefined) throw refusal('invalid', 'A message has neither a chunk nor metadata');
    if (actionId !== undefined) throw refusal('invalid', 'The metadata must be the last message, and come once');
    if (requestType.case === 'metadata') actionId = checked(requestType.value);
    else {
      const { data } = requestType.value;
      if (draft.size() + data.length > maxFileBytes) throw refusal('tooLarge', fileTooLarge(maxFileBytes));
      await draft.add(data).catch(sayingNoRoom);
    }
  }
  if (actionId === undefined) throw refusal('invalid', 'No metadata received: it must be the last message');
  return actionId;
}

/** The same until a signal aborts: then reading fails with its reason, though nothing comes. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const result = await unlessAborted(iterator.next(), signal).catch(sayingNoRoom);
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    // What still waits for a message is not waited for.
    iterator.return?.().catch(() => undefined);
  }
}

/**
 * The result of some work, or the reason of an abort before it.
 *
 * A race with one promise for all messages would keep each of them until the last.
 */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const end = (): void => {
      const { reason }: Readonly<{ reason: unknown }> = signal;
      reject(toAppError(reason));
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const settled = (): void => signal.removeEventListener('abort', end);
    work.then(resolve, reject).then(settled, settled);
  });
}

function checked({ actionId, taskId }: Readonly<{ actionId: string; taskId: string }>): string {
  if (actionId === '') throw refusal('invalid', 'The metadata names no action_id');
  if (Buffer.byteLength(taskId) > longestTaskId) throw refusal('invalid', `A task_id may have ${longestTaskId} bytes`);
  if (!isActionId(actionId)) throw refusal('notFound', 'The chain has no such action');
  return actionId;
}
