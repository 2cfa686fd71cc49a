import pLimit from 'p-limit';
import { randomOf } from '../../../../src/edges/local-network/random.ts';
import { StatusRequestSchema, StatusResponseSchema } from '../../../../src/edges/gen/supernode/supernode_pb.ts';
import { create, toBinary } from '@bufbuild/protobuf';
import { callGrpc } from '../../../support/callers/grpc-client.ts';
import { until } from '../../../support/polling.ts';
import type { NodeUnderTest } from '../node-under-test.ts';
import { attacks } from './malformed.ts';

const atOnce = 8;

/** How many sockets this process has open. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

/** GetStatus by grpc-js and the status over HTTP, as other clients of a node ask for them. */
export async function askBoth(node: NodeUnderTest): Promise<void> {
  const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, {}));
  const path = '/supernode.SupernodeService/GetStatus';
  const [status, http] = await Promise.all([
    callGrpc(node.grpc, path, { request, output: StatusResponseSchema }),
    fetch(`${node.http}/api/v1/status`, { headers: { connection: 'close' } }).then((answer) => answer.json()),
  ]);
  const { version } = http as { version: string };
  if (status.version !== version) throw new Error(`${status.version} over gRPC, ${version} over HTTP`);
}

/**
 * Sends so many malformed things to a port of a node, chosen by the seed; gives the answers that blame the node.
 *
 * Other clients are served after each hundredth of them, and in the end no connection is left.
 */
export async function besiege(
  node: NodeUnderTest,
  name: keyof typeof attacks,
  { count, seed }: Readonly<{ count: number; seed: string }>,
): Promise<string[]> {
  const before = openSockets();
  const target = { host: node.host, port: node.ports[name] };
  const limit = pLimit(atOnce);
  const faults = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      limit(async () => {
        const random = randomOf(`${seed}/${name}/${index}`);
        const fault = await random.pick(attacks[name])(target, random);
        if (index % 100 === 0) await askBoth(node);
        return fault === undefined ? [] : [`${index}: ${fault}`];
      }),
    ),
  );
  await askBoth(node);
  await until('its connections are closed', () => openSockets() <= before, 20_000);
  return faults.flat();
}
