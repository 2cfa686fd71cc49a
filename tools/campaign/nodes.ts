import { createLocalNode } from '../../src/edges/local-network/node.ts';
import type { Random } from '../../test/support/random-history.ts';

/** SuperNodes on loopback addresses that probes find open; every other address of the subnet refuses. */
export type Nodes = Readonly<{
  /** The first three numbers of their addresses. */
  subnet: string;
  close: () => Promise<void>;
}>;

const count = 4;
const ports = { grpc: 4444, p2p: 4445, http: 8002 };

/** Opens the sockets of some nodes on a subnet of their own. */
export async function startNodes({ below }: Random): Promise<Nodes> {
  const subnet = `127.${2 + below(250)}.${below(250)}`;
  const nodes = Array.from({ length: count }, (_, at) =>
    createLocalNode({
      host: `${subnet}.${1 + at}`,
      ports,
      identity: { address: `${subnet}.${1 + at}:4444`, version: '2.5.0', peers: [], variation: at / count },
    }),
  );
  await Promise.all(nodes.map((node) => node.goUp()));
  return { subnet, close: async () => void (await Promise.all(nodes.map((node) => node.goDown()))) };
}
