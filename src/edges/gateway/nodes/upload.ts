import { type FileHandle, open } from 'node:fs/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TransferStep, StepDetail } from '../../../commands/transfers/steps.ts';
import { chunkBytesOf } from '../../chain/files/chunks.ts';
import { DataChunkSchema, RegisterRequestSchema, SupernodeEventType } from '../../gen/cascade/service_pb.ts';
import type { ClientFields } from '../../rpc/client-fields.ts';
import { piecesOf } from '../../../kit/file-pieces.ts';
import type { AttemptWatch } from './attempt-watch.ts';
import type { Attempt } from './running-attempt.ts';
import { connectNode } from './connection.ts';
import { DiskFailure, onOwnDisk } from './own-disk.ts';
import { nodeStep } from './states.ts';

/** A file on this machine's disk. */
export type LocalFile = Readonly<{ path: string; size: number }>;

/** Nodes take chunks of any size. 1 GiB in chunks of 1 MiB leaves 80 MiB that wait to be collected, in these 45. */
const mostChunkBytes = 256 * 1024;

const chunkPath = [RegisterRequestSchema.field.chunk.number, DataChunkSchema.field.data.number];

type Message = MessageInitShape<typeof RegisterRequestSchema>;

/**
 * Sends a file to one node; returns the hash of the transaction that is to finalize its action.
 *
 * `sdk:upload_completed` comes with the node's first event after the complete file was sent, never before: clients
 * treat it as the end. Fails when the node refuses, stalls, breaks off or ends without having finalized.
 */
export async function* uploadTo(
  attempt: Attempt,
  actionId: string,
  file: LocalFile,
): AsyncGenerator<TransferStep[], string> {
  const { node, iteration, attemptId, dialling, watch } = attempt;
  const handle = await watch.ownTime(onOwnDisk(open(file.path)));
  let hangUp = (): void => undefined;
  let broken: DiskFailure | undefined;
  try {
    const connection = await connectNode(node, dialling, watch.signal);
    hangUp = connection.close;
    watch.enter('sending');
    yield [{ status: 'sdk:connection_established', detail: attempt.about }];
    const chunkSize = Math.min(chunkBytesOf(file.size), mostChunkBytes);
    const sizes: StepDetail = {
      iteration,
      bytesTotal: file.size,
      chunkSize,
      estChunks: Math.ceil(file.size / chunkSize),
    };
    yield [{ status: 'sdk:upload_started', detail: sizes }];
    const startedAt = performance.now();
    let isSent = false;
    let isReported = false;
    let txHash = '';
    const sent = (): void => {
      isSent = true;
      watch.enter('processing');
    };
    const failed = (caught: DiskFailure): void => void (broken = caught);
    const { fields } = connection;
    const { moved, ownTime } = watch;
    const sending = { taskId: attemptId, actionId, chunkSize, fields, moved, ownTime, sent, failed };
    const messages = messagesOf(handle, file.size, sending);
    for await (const reported of connection.client.register(messages, { signal: watch.signal })) {
      watch.moved();
      attempt.countEvent();
      const before = isSent && !isReported ? sentSteps(sizes, performance.now() - startedAt) : [];
      isReported ||= isSent;
      yield [...before, nodeStep(iteration, reported)];
      if (reported.eventType === SupernodeEventType.ACTION_FINALIZED) txHash = reported.txHash;
    }
    if (txHash === '') throw new Error('the node ended the registration without having finalized the action');
    return txHash;
  } catch (caught) {
    throw broken ?? caught;
  } finally {
    hangUp();
    await handle.close().catch(() => undefined);
  }
}

function sentSteps({ iteration, bytesTotal, chunkSize, estChunks }: StepDetail, ms: number): TransferStep[] {
  const elapsedSeconds = ms / 1000;
  const detail: StepDetail = { iteration, bytesTotal, chunkSize, chunks: estChunks, elapsedSeconds };
  return [
    { status: 'sdk:upload_completed', detail },
    { status: 'sdk:processing_started', detail: { iteration } },
  ];
}

type Sending = Readonly<{
  taskId: string;
  actionId: string;
  chunkSize: number;
  fields: ClientFields;
  moved: () => void;
  ownTime: AttemptWatch['ownTime'];
  sent: () => void;
  failed: (caught: DiskFailure) => void;
}>;

async function* messagesOf(
  handle: FileHandle,
  size: number,
  { taskId, actionId, chunkSize, fields, moved, ownTime, sent, failed }: Sending,
): AsyncGenerator<Message> {
  const pieces = piecesOf(handle, { first: 0, last: size - 1, pieceBytes: chunkSize });
  for (;;) {
    // The client wraps a failure of this generator in an error of its own, so the disk's failure is recorded beside it.
    const piece = await ownTime(onOwnDisk(pieces.next())).catch((caught: unknown) => {
      if (caught instanceof DiskFailure) failed(caught);
      throw caught;
    });
    if (piece.done === true) break;
    // The next message is pulled once this one has left.
    const data = fields.send({ path: chunkPath, bytes: piece.value.length, parts: [piece.value] });
    yield { requestType: { case: 'chunk', value: { data } } };
    moved();
  }
  sent();
  yield { requestType: { case: 'metadata', value: { taskId, actionId } } };
}
