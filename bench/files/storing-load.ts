import { setTimeout as pause } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { chunkMessage, uploadByGrpc } from '../../test/support/callers/grpc-files.ts';

const chunkBytes = 1_000_000;
const chunksPerSecond = 20;

/** Uploads 20 MB a second to an address until the thread is ended. */
async function* paced(): AsyncGenerator<Uint8Array> {
  const message = chunkMessage(Buffer.alloc(chunkBytes, 'stored'));
  const began = performance.now();
  for (let sent = 0; ; sent += 1) {
    await pause(Math.max(0, began + (sent * 1000) / chunksPerSecond - performance.now()));
    yield message;
  }
}

const { address } = workerData as { address: string };
// Without an action the upload ends in a refusal, or as grpc-js ends it; its bytes were stored by then.
await uploadByGrpc(address, '0', paced()).catch(() => undefined);
