import { connect } from 'node:http2';
import { once as event } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { StatusRequestSchema } from '../../src/edges/gen/supernode/supernode_pb.ts';
import { chunkMessage, uploadByGrpc } from '../../test/support/grpc-files.ts';
import { type Context, once } from '../context.ts';
import { percentile } from '../rounds.ts';
import type { Row } from '../row.ts';
import { callAll, startNode } from './status.ts';
import { startServer } from './streams.ts';

const chunkBytes = 1_000_000;
const chunksPerSecond = 20;

/** What 99 of 100 callers of GetStatus wait at most while 20 MB a second are stored, beside a server of grpc-js. */
export function rows(context: Context): readonly Row[] {
  const ours = once(() => startNode(context));
  const peer = once(async () => await startServer(context, 'grpc-js', path.join(await context.folder('peer'), 'file')));
  const contender = (address: string) => async () => await whileStoring(address, context.size(10, 1));
  return [
    {
      name: 'storing-status-p99',
      unit: 'ms',
      better: 'lower',
      peerName: 'grpc-js',
      target: { ours: 25 },
      measure: async () => {
        const own = await ours();
        return await context.inTurn('lower', contender(own), async () => contender(await peer()));
      },
    },
  ];
}

async function whileStoring(address: string, seconds: number): Promise<number> {
  const session = connect(`http://${address}`);
  await event(session, 'remoteSettings');
  const ending = new AbortController();
  // Without an action the upload ends in a refusal, or as grpc-js ends it; its bytes were stored by then.
  const storing = uploadByGrpc(address, '0', paced(ending.signal)).catch(() => undefined);
  try {
    const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, {}));
    return percentile(await callAll(session, request, seconds), 99);
  } finally {
    ending.abort();
    await storing;
    session.destroy();
  }
}

async function* paced(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const message = chunkMessage(Buffer.alloc(chunkBytes, 'stored'));
  const began = performance.now();
  for (let sent = 0; !signal.aborted; sent += 1) {
    await pause(Math.max(0, began + (sent * 1000) / chunksPerSecond - performance.now()));
    yield message;
  }
}
