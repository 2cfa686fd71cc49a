import { connect } from 'node:http2';
import { once as event } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { create, toBinary } from '@bufbuild/protobuf';
import { StatusRequestSchema } from '../../src/edges/gen/supernode/supernode_pb.ts';
import { type Context, once } from '../context.ts';
import { percentile } from '../rounds.ts';
import type { Row } from '../row.ts';
import { callAll, startNode } from './status.ts';
import { startServer } from './streams.ts';

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
  // In a thread of its own: what the sending leaves to be collected would hold up the calls that are timed.
  const storing = new Worker(new URL('../files/storing-load.ts', import.meta.url), { workerData: { address } });
  try {
    const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, {}));
    return percentile(await callAll(session, request, seconds), 99);
  } finally {
    await storing.terminate();
    session.destroy();
  }
}
