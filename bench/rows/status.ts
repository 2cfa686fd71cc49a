import { once as event } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import path from 'node:path';
import { pino } from 'pino';
import { create, toBinary } from '@bufbuild/protobuf';
import { StatusRequestSchema } from '../../src/edges/gen/supernode/supernode_pb.ts';
import { loadProfile } from '../../src/edges/chain/rest/profile.ts';
import { startLocalNodes } from '../../src/edges/local-network/nodes/local-nodes.ts';
import { type Context, once } from '../context.ts';
import { percentile } from '../rounds.ts';
import type { Row } from '../row.ts';

const perSecond = 500;
const host = '127.0.0.1';
const method = '/supernode.SupernodeService/GetStatus';

/** What 99 of 100 callers of GetStatus wait at most, 500 of them a second, each timed from when it was due. */
export function rows(context: Context): readonly Row[] {
  const address = once(() => startNode(context));
  const row = (name: string, includeP2pMetrics: boolean, ours: number): Row => ({
    name,
    unit: 'ms',
    better: 'lower',
    peerName: null,
    target: { ours },
    measure: async () => {
      const session = connect(`http://${await address()}`);
      await event(session, 'remoteSettings');
      const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, { includeP2pMetrics }));
      const seconds = context.size(10, 1);
      const figures = await context.inTurn('lower', async () =>
        percentile(await callAll(session, request, seconds), 99),
      );
      session.destroy();
      return figures;
    },
  });
  return [row('status-p99', false, 5), row('status-with-metrics-p99', true, 10)];
}

/** A node in a process of its own, as the local network has them; its chain is out of reach. */
export async function startNode(context: Context): Promise<string> {
  const folder = await context.folder('node');
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, '01'.repeat(32));
  const local = await startLocalNodes({
    plan: {
      chainUrl: `http://${host}:1`,
      profile: loadProfile('local'),
      version: '0.0.0',
      snapshotMs: 30_000,
      secure: true,
      files: { storageBytes: 2 ** 30, maxFileBytes: 2 ** 30, copies: 1, repairAfterMs: 600_000, allowPrivate: true },
      log: { level: 'error', format: 'json' },
    },
    nodes: [{ host, ports: { grpc: 0, p2p: 0, http: 0 }, folder, keyFile }],
    apart: false,
    logger: pino({ level: 'error' }, process.stderr),
    signal: context.signal,
  });
  context.defer(local.stop);
  return `${host}:${local.nodes[0]?.ports()?.grpc}`;
}

/**
 * Calls at their times, whether or not earlier ones were answered; gives how long each took from then, in
 * milliseconds.
 */
export async function callAll(session: ClientHttp2Session, request: Uint8Array, seconds: number): Promise<number[]> {
  const took: Promise<number>[] = [];
  const began = performance.now();
  for (let count = 0; count < perSecond * seconds;) {
    const due = began + (count * 1000) / perSecond;
    if (due > performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      continue;
    }
    count += 1;
    took.push(call(session, request).then(() => performance.now() - due));
  }
  return await Promise.all(took);
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
