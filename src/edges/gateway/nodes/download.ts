import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { TransferStep } from '../../../commands/transfers/steps.ts';
import type { CascadeAction } from '../../chain/files/chain.ts';
import type { FileHashes } from '../../chain/files/file-hashes.ts';
import { syncFolder } from '../../../kit/durable.ts';
import { inSteps, type Space } from '../intake/space.ts';
import { DataChunkSchema, DownloadResponseSchema } from '../../gen/cascade/service_pb.ts';
import { createFileWriter, type FileWriter } from '../intake/file-writer.ts';
import type { Attempt } from './running-attempt.ts';
import { connectNode, messageBytes } from './connection.ts';
import { onOwnDisk } from './own-disk.ts';
import { nodeStep } from './states.ts';

/** The file to fetch, and its destination. */
export type Wanted = Readonly<{
  actionId: string;
  /** As the chain has it. */
  dataHash: string;
  /** Of the creator over the action id; private files need it. */
  signature: string;
  /** Path of the file; it exists only once the file is complete and right. */
  into: string;
  hashesOf: FileHashes['of'];
  /** A node that sends more is cut off. */
  mostBytes: number;
  /** Room for the file, whose size by the action's record is `expectedBytes`. */
  space: Space;
  expectedBytes: number;
}>;

const chunkPath = [DownloadResponseSchema.field.chunk.number, DataChunkSchema.field.data.number];

/** Size of a file in bytes by its action's record, which counts KB of either rounding; at most the limit. */
export function recordedBytes({ record: { fileSizeKbs } }: CascadeAction, mostBytes: number): number {
  return Math.min((fileSizeKbs + 1) * 1024, mostBytes);
}

/**
 * Fetches a file from one node; its path appears only once the bytes match the chain's data hash and are on the disk.
 *
 * Meanwhile its bytes are beside `target`. Gives the states that end the task: those of one attempt alone are written.
 * Fails when the node refuses, stalls, breaks off, or sends other bytes; with `DiskFailure` where our own disk does.
 */
export async function* downloadFrom(
  attempt: Attempt,
  wanted: Wanted,
  target: string,
): AsyncGenerator<TransferStep[], TransferStep[][]> {
  const { node, iteration, dialling, watch } = attempt;
  const { actionId, dataHash, signature, into, mostBytes, hashesOf } = wanted;
  const part = wanted.space.partOf(target);
  const room = await watch.ownTime(onOwnDisk(wanted.space.reserve(target, 0, 'download')));
  let file: FileHandle | undefined;
  let hangUp = (): void => undefined;
  let broken: unknown;
  try {
    file = await watch.ownTime(onOwnDisk(open(part, 'w', 0o600)));
    const writer = createFileWriter(file);
    const add = createAdder(writer, inSteps(room, wanted.expectedBytes), mostBytes);
    const { client, fields, close } = await connectNode(node, dialling, watch.signal);
    hangUp = close;
    watch.enter('sending');
    const startedAt = performance.now();
    let [size, chunks] = [0, 0];
    const take = async (data: Uint8Array): Promise<void> => {
      watch.moved();
      size = await watch.ownTime(add(data)).catch((caught: unknown) => {
        // The client wraps what fails within it in an error of its own.
        broken = caught;
        throw caught;
      });
    };
    fields.take({ path: chunkPath, mostBytes: messageBytes, take });
    for await (const { responseType: reported } of client.download({ actionId, signature }, { signal: watch.signal })) {
      watch.moved();
      if (reported.case === 'event') attempt.countEvent();
      if (reported.case === 'event') yield [nodeStep(iteration, reported.value)];
      if (reported.case === 'chunk') await take(reported.value.data);
      if (reported.case === 'chunk') chunks += 1;
    }
    // What remains is ours alone: it makes no node slow.
    watch.stop();
    await onOwnDisk(writer.end());
    if (!(await onOwnDisk(hashesOf(part))).includes(dataHash))
      throw new Error('the node gave bytes that do not hash to what the chain says');
    await onOwnDisk(rename(part, into));
    await onOwnDisk(syncFolder(path.dirname(into)));
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    const detail = { iteration, bytesTotal: size, chunks, elapsedSeconds };
    return [
      [{ status: 'sdk:download_started', detail: { iteration } }],
      [{ status: 'sdk:download_completed', detail }, { status: 'sdk:completed' }],
    ];
  } catch (caught) {
    throw broken ?? caught;
  } finally {
    hangUp();
    // What cannot be closed or removed now is no reason to doubt the file; the sweep removes left-overs.
    await file?.close().catch(() => undefined);
    await rm(part, { force: true }).catch(() => undefined);
    room.release();
  }
}

/** Adds bytes to a file once there is room for them; returns how many it has then. */
function createAdder(
  writer: FileWriter,
  makeRoom: (bytes: number) => Promise<void>,
  mostBytes: number,
): (data: Uint8Array) => Promise<number> {
  let size = 0;
  return async (data) => {
    size += data.length;
    if (size > mostBytes) throw new Error(`the node sends more than ${mostBytes} bytes`);
    await onOwnDisk(makeRoom(size));
    await onOwnDisk(writer.write(data));
    return size;
  };
}
