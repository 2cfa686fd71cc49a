import { once as event } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { StatusRequestSchema } from '../src/edges/gen/supernode/supernode_pb.ts';
import { atTheirTimes } from './at-their-times.ts';

/** Calls of GetStatus at an address, 500 a second. */
export type StatusCalls = Readonly<{ address: string; includeP2pMetrics: boolean; seconds: number }>;

const perSecond = 500;
const method = '/supernode.SupernodeService/GetStatus';

// The process that makes the calls: each order is answered with how long its calls took.
process.on('disconnect', () => process.exit());
process.on('message', (calls: StatusCalls) => {
  callAll(calls).then(
    (took) => process.send?.(took),
    (caught: unknown) => process.send?.(String(caught)),
  );
});
process.send?.('ready');

/**
 * Calls at their times, whether or not earlier ones were answered; gives how long each took from then, in
 * milliseconds.
 */
async function callAll({ address, includeP2pMetrics, seconds }: StatusCalls): Promise<number[]> {
  const session = connect(`http://${address}`);
  await event(session, 'remoteSettings');
  const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, { includeP2pMetrics }));
  const took: Promise<number>[] = [];
  await atTheirTimes({ perSecond, seconds }, (due) => {
    took.push(call(session, request).then(() => performance.now() - due));
  });
  try {
    return await Promise.all(took);
  } finally {
    session.destroy();
  }
}

async function call(session: ClientHttp2Session, request: Uint8Array): Promise<void> {
  const stream = session.request({
    ':method': 'POST',
    ':path': method,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(request.length, 1);
  stream.end(Buffer.concat([prefix, request]));
  stream.resume();
  const [trailers] = (await event(stream, 'trailers')) as [Record<string, unknown>];
  if (trailers['grpc-status'] !== '0') throw new Error(`GetStatus failed with ${String(trailers['grpc-status'])}`);
}
