import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import { loadProfile } from '../../../src/edges/chain/rest/profile.ts';
import { sampleProcessors } from '../../../src/edges/node/machine/processor.ts';
import { startNode } from '../../../src/edges/node/start-node.ts';
import { temporaryFolder } from '../programs/temporary-folder.ts';

/** SuperNodes on loopback addresses that probes find open; every other address of the subnet refuses. */
export type Nodes = Readonly<{
  /** The first three numbers of their addresses. */
  subnet: string;
  close: () => Promise<void>;
}>;

const count = 4;
const ports = { grpc: 4444, p2p: 4445, http: 8002 };
/** Nothing listens there: these nodes are on no chain. */
const noChain = 'http://127.0.0.1:1';

/** Runs some nodes on a subnet of their own. */
export async function startNodes(): Promise<Nodes> {
  const subnet = `127.${randomInt(2, 250)}.${randomInt(250)}`;
  const folder = temporaryFolder();
  const profile = loadProfile('main');
  const chain = createChainClient(noChain, profile);
  const ending = new AbortController();
  const processor = sampleProcessors(ending.signal);
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, at) =>
      startNode({
        host: `${subnet}.${1 + at}`,
        ports,
        folder: path.join(folder, String(at)),
        key: { type: 'secp256k1', bytes: new Uint8Array(32).fill(at + 1) },
        secure: false,
        chain,
        addressPrefix: profile.addressPrefix,
        version: '2.5.0',
        processor,
        snapshotMs: 30_000,
        logger: pino({ level: 'silent' }),
      }),
    ),
  );
  const close = async (): Promise<void> => {
    ending.abort();
    await Promise.all(nodes.map((node) => node.stop()));
    await chain.close();
    await rm(folder, { recursive: true });
  };
  return { subnet, close };
}
