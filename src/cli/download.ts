import { createWriteStream } from 'node:fs';
import { access, constants, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../kit/errors.ts';
import { print } from './output.ts';
import { followTask } from './transfer/follow-task.ts';
import { type Fetched, openFile } from './transfer/fetched-file.ts';
import { requestDownload } from './transfer/gateway-client.ts';
import { gatewayUrl, type OpeningOptions, signatureOver } from './transfer/network.ts';
import { createProgress, type TransferProgress, showToEnd } from './transfer/progress.ts';

/** Options of `annals download`. */
type DownloadOptions = OpeningOptions & Readonly<{ json: boolean; out?: string }>;

/**
 * `annals download ID`: fetches the file of an action through a gateway, shows every state, and writes it.
 *
 * Overwrites no file, and leaves no partial file under the final name. After a lost connection it resumes with a range
 * of the same content.
 */
export async function download(actionId: string, options: DownloadOptions): Promise<void> {
  if (options.out !== undefined) await requireFree(options.out);
  const gateway = await gatewayUrl(options);
  const signature = await signatureOver(actionId, options);
  const progress = createProgress('download', options);
  try {
    const taskId = await requestDownload(gateway, actionId, signature);
    await showToEnd(followTask(gateway, 'download', taskId), progress);
    const fetched = await openFile(gateway, taskId);
    const out = options.out ?? fetched.name ?? `action-${actionId}`;
    await requireFree(out);
    const size = await write(fetched, out, progress);
    progress.stop();
    print(
      { action_id: actionId, task_id: taskId, file: out, size },
      { json: options.json, human: () => `Wrote ${out}, ${size} bytes.` },
    );
  } finally {
    progress.stop();
  }
}

async function requireFree(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  );
  if (isThere) throw new AppError('CONFLICT', `${file} is there already: name another file with --out`);
  await access(dirname(file), constants.W_OK).catch((cause: unknown) => {
    throw new AppError('NOT_FOUND', `The folder of ${file} is missing or cannot be written to`, { cause });
  });
}

/** Writes to a file beside the target and renames it once it is complete. */
async function write({ bytes, size }: Fetched, out: string, progress: TransferProgress): Promise<number> {
  const part = `${out}.part-${process.pid}`;
  const onBytes = progress.bytes('fetching', size);
  let written = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      written += chunk.length;
      onBytes(chunk.length);
      yield chunk;
    }
  };
  try {
    await pipeline(counted, createWriteStream(part, { flags: 'wx' }));
    await rename(part, out);
    return written;
  } finally {
    await rm(part, { force: true });
  }
}
