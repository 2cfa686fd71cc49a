import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Step } from '../../../commands/transfers/steps.ts';
import type { FileHashes } from '../../cascade/file-hashes.ts';
import { syncFolder } from '../../kit/durable.ts';
import type { Attempt } from './attempts.ts';
import { connectNode } from './connection.ts';
import { nodeStep } from './states.ts';

/** What is fetched, and where it goes. */
export type Wanted = Readonly<{
  actionId: string;
  /** As the chain has it. */
  dataHash: string;
  /** Of the creator over the action id; private files need it. */
  signature: string;
  /** Path of the file; there only once it is whole and right. */
  into: string;
  hashesOf: FileHashes['of'];
  /** A node that sends more is cut off. */
  mostBytes: number;
}>;

/**
 * Fetches a file from one node; its path appears only once the bytes hash to what the chain says and are on the disk.
 *
 * Fails when the node refuses, stalls, breaks off, or gives other bytes.
 */
export async function* downloadFrom(attempt: Attempt, wanted: Wanted): AsyncGenerator<Step[], void> {
  const { node, iteration, dialling, watch } = attempt;
  const { actionId, dataHash, signature, into, mostBytes, hashesOf } = wanted;
  const { client, close } = await connectNode(node, dialling, watch.signal);
  attempt.reach('connected');
  const part = `${into}.part`;
  const file = await open(part, 'w', 0o600);
  try {
    const began = performance.now();
    let [size, chunks] = [0, 0];
    for await (const { responseType: told } of client.download({ actionId, signature }, { signal: watch.signal })) {
      watch.moved();
      if (told.case === 'event') attempt.countEvent();
      if (told.case === 'event') yield [nodeStep(iteration, told.value)];
      if (told.case !== 'chunk') continue;
      const { data } = told.value;
      [size, chunks] = [size + data.length, chunks + 1];
      if (size > mostBytes) throw new Error(`the node sends more than ${mostBytes} bytes`);
      await file.writeFile(data);
    }
    await file.sync();
    if (!(await hashesOf(part)).includes(dataHash))
      throw new Error('the node gave bytes that do not hash to what the chain says');
    await rename(part, into);
    await syncFolder(path.dirname(into));
    // Told by the try that succeeds alone: a task has this state once, whatever nodes did before.
    yield [{ status: 'sdk:download_started', detail: { iteration } }];
    const elapsedSeconds = (performance.now() - began) / 1000;
    const detail = { iteration, bytesTotal: size, chunks, elapsedSeconds };
    yield [{ status: 'sdk:download_completed', detail }, { status: 'sdk:completed' }];
  } finally {
    close();
    await file.close();
    await rm(part, { force: true });
  }
}
