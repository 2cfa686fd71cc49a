import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import type { PrivateKey } from '../../../src/edges/chain/sign/keys.ts';
import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import { sampleProcessors } from '../../../src/edges/node/machine/processor.ts';
import { type NodeOptions, startNode, type RunningNode } from '../../../src/edges/node/start-node.ts';

/** A node of a test: its addresses, and its end with the test. */
export type NodeUnderTest = RunningNode & AsyncDisposable & Readonly<{ grpc: string; http: string }>;

/** Key of its account, lumera1rfjz7r3u8t65teavh5utquj3kwvsj983mrr6xz. */
export const nodeKey: PrivateKey = { type: 'eth_secp256k1', bytes: new Uint8Array(32).fill(1) };

/** Starts a node on free ports of a loopback address; its chain is out of reach unless one is given. */
export async function nodeUnderTest(
  options: Partial<NodeOptions> & { chainUrl?: string } = {},
): Promise<NodeUnderTest> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-node-'));
  const ending = new AbortController();
  const chain = createChainClient(options.chainUrl ?? 'http://127.0.0.1:1', { restPrefix: '/LumeraProtocol/lumera' });
  const end = async (): Promise<void> => {
    ending.abort();
    await chain.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const node = await startNode({
    host: '127.0.0.1',
    ports: { grpc: 0, p2p: 0, http: 0 },
    folder,
    key: nodeKey,
    secure: true,
    chain,
    addressPrefix: 'lumera',
    version: '1.2.3',
    processor: sampleProcessors(ending.signal),
    snapshotMs: 30_000,
    logger: pino({ level: 'silent' }),
    ...options,
  }).catch(async (caught: unknown) => {
    await end();
    throw caught;
  });
  return {
    ...node,
    grpc: `${node.host}:${node.ports.grpc}`,
    http: `http://${node.host}:${node.ports.http}`,
    [Symbol.asyncDispose]: async () => {
      await node.stop();
      await end();
    },
  };
}
