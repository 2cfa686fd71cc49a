import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { createCascadeChain } from '../../../src/edges/chain/files/chain.ts';
import { CascadeService, SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import { createChainClient } from '../../../src/edges/chain/rest/client.ts';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import type { RealNode } from '../../../src/edges/local-network/cast.ts';
import { type NodesChild, startNodesChild } from '../../../src/edges/local-network/nodes/child.ts';
import { randomOf } from '../../../src/edges/local-network/random.ts';
import { createEvidence } from '../../../src/edges/node/storage/evidence.ts';
import { openStorage } from '../../../src/edges/node/storage/storage.ts';
import { bytesOf, downloaded, pendingAction, upload } from './files-under-test.ts';
import { nodeUnderTest } from './node-under-test.ts';

/** A node, whose Register is cut off again and again on the same folder. */
export type KilledNode = Readonly<{ ledger: Ledger; node: RealNode; folder: string }>;

const profile = { restPrefix: '/LumeraProtocol/lumera', addressPrefix: 'lumera' };
const host = '127.0.0.1';
const anyPorts = { grpc: 0, p2p: 0, http: 0 };
const bounds = { storageBytes: 2 ** 30, maxFileBytes: 2 ** 30, copies: 3, repairAfterMs: 600_000, allowPrivate: true };
const chunkBytes = 65_536;

/** The last event of Register, which reports the finalization; the one before it reports that the pieces are stored. */
export const lastEvent: number = SupernodeEventType.ACTION_FINALIZED;
const hourMs = 3_600_000;

/**
 * Kills a node with SIGKILL in the midst of Register, at a point that the seed decides, or at an event that is given,
 * and looks at what it left.
 *
 * Fails where half a file is served, where a finalized one is not whole, where the store holds anything else an hour
 * later, or where the same file cannot be registered again.
 */
export async function killDuringRegister(killed: KilledNode, seed: string, atEvent?: number): Promise<string> {
  const { ledger } = killed;
  const random = randomOf(seed);
  const file = bytesOf(random.pick(['a', 'b', 'c', 'd']), random.between(1, 4_000_000));
  file.set(random.bytes(8).subarray(0, file.length));
  const actionId = await pendingAction(ledger, file);
  const point = await cutOff(killed, { actionId, file, random, atEvent });
  const settled = bytesOf('s', 1);
  await pendingAction(ledger, settled);
  const state = await stateOf(ledger, actionId);
  await checkServed(killed, { actionId, file, state });
  await checkLeft(killed);
  if (state === 'pending') await registerAgain(killed, { actionId, file });
  return `${point}, ${state}`;
}

type Cut = Readonly<{
  actionId: string;
  file: Buffer;
  random: ReturnType<typeof randomOf>;
  atEvent: number | undefined;
}>;

/** Starts the node in a process of its own, begins Register and kills it at its point; gives where that was. */
async function cutOff({ ledger, node, folder }: KilledNode, { actionId, file, random, atEvent }: Cut): Promise<string> {
  const keyFile = path.join(folder, 'key');
  await writeFile(keyFile, Buffer.from(node.account.key.bytes).toString('hex'));
  const log = { level: 'error', format: 'json' } as const;
  const plan = {
    chainUrl: ledger.url,
    profile,
    version: '0.0.0',
    snapshotMs: 30_000,
    secure: false,
    files: bounds,
    log,
  };
  const child = await startNodesChild(plan);
  const { grpc } = await child.start({ host, ports: anyPorts, folder, keyFile });
  const client = createClient(CascadeService, createGrpcTransport({ baseUrl: `http://${host}:${grpc}` }));
  const chunks = Math.ceil(file.length / chunkBytes);
  const isWhileSent = atEvent === undefined && random.between(0, 2) === 0;
  const killAtChunk = isWhileSent ? random.between(0, chunks - 1) : undefined;
  const killAtEvent = atEvent ?? random.between(1, lastEvent);
  const waitMs = random.between(0, 12);
  let isDue = false;
  const kill = (): void => {
    isDue = true;
    setTimeout(() => killNow(child), waitMs);
  };
  async function* requests() {
    for (let index = 0; index < chunks; index += 1) {
      if (index === killAtChunk) kill();
      const data = file.subarray(index * chunkBytes, (index + 1) * chunkBytes);
      yield { requestType: { case: 'chunk' as const, value: { data } } };
      await new Promise((resolve) => setImmediate(resolve));
    }
    yield { requestType: { case: 'metadata' as const, value: { actionId } } };
  }
  let failure: unknown;
  try {
    for await (const { eventType } of client.register(requests()))
      if (Number(eventType) === killAtEvent && killAtChunk === undefined) kill();
  } catch (caught) {
    if (!(caught instanceof ConnectError)) throw caught;
    failure = caught;
  }
  if (!isDue) {
    await child.stop();
    throw new Error(`Register ended before event ${killAtEvent}`, { cause: failure });
  }
  await child.exited;
  return killAtChunk === undefined ? `at event ${killAtEvent}` : `at chunk ${killAtChunk} of ${chunks}`;
}

function killNow({ pid }: NodesChild): void {
  if (pid === undefined) throw new Error('The process of the node has no id');
  process.kill(pid, 'SIGKILL');
}

async function stateOf(ledger: Ledger, actionId: string): Promise<string> {
  return await withChain(ledger, async (chain) => (await chain.action(actionId))?.record.chainState ?? 'unknown');
}

async function withChain<T>(
  ledger: Ledger,
  use: (chain: ReturnType<typeof createCascadeChain>) => Promise<T>,
): Promise<T> {
  const client = createChainClient(ledger.url, profile);
  const { signal } = new AbortController();
  try {
    return await use(createCascadeChain(client, { ...profile, signal }));
  } finally {
    await client.close();
  }
}

type Registered = Readonly<{ actionId: string; file: Buffer; state: string }>;

/** The node runs again on what it left: a finalized file is whole, another one is not served. */
async function checkServed(killed: KilledNode, { actionId, file, state }: Registered): Promise<void> {
  await using again = await startAgain(killed);
  const got = await downloaded(again.grpc, actionId).catch((caught: unknown) => ConnectError.from(caught).code);
  if (state === 'done' ? typeof got === 'object' && got.bytes.equals(file) : got === Code.FailedPrecondition) return;
  throw new Error(`The action is ${state}, and its download gave ${typeof got === 'object' ? 'bytes' : Code[got]}`);
}

async function startAgain({ ledger, node, folder }: KilledNode) {
  return await nodeUnderTest({ folder, key: node.account.key, chainUrl: ledger.url, cascade: bounds });
}

/** Some hours later the store holds the files of finalized actions, each of their pieces, and nothing else. */
async function checkLeft({ ledger, folder }: KilledNode): Promise<void> {
  const storageFolder = path.join(folder, 'storage');
  let laterMs = hourMs + 1000;
  const now = (): number => Date.now() + laterMs;
  const storage = await openStorage({ folder: storageFolder, bound: -1, now });
  await withChain(ledger, async (chain) => {
    const evidence = createEvidence({ chain, folder: storageFolder, now });
    await storage.sweep(await evidence.pass());
    await pendingAction(ledger, bytesOf('n', 1));
    laterMs += 2 * hourMs;
    await storage.sweep(await evidence.pass());
  });
  const named = new Set<string>();
  for (const actionId of await storage.files()) {
    const state = await stateOf(ledger, actionId);
    if (state !== 'done') throw new Error(`The store holds the file of action ${actionId}, which is ${state}`);
    for (const hash of (await storage.manifest(actionId))?.pieces ?? []) {
      named.add(hash);
      if (!(await storage.pieces.get(hash))) throw new Error(`A piece of action ${actionId} is not there`);
    }
  }
  for (const hash of storage.index.pieces())
    if (!named.has(hash)) throw new Error(`The piece ${hash} belongs to no file`);
  const incoming = await readdir(path.join(storageFolder, 'incoming'));
  if (incoming.length > 0) throw new Error(`Unfinished files are left: ${incoming.join(', ')}`);
}

async function registerAgain(killed: KilledNode, { actionId, file }: Omit<Registered, 'state'>): Promise<void> {
  await using again = await startAgain(killed);
  await upload(again.grpc, actionId, file);
  if (!(await downloaded(again.grpc, actionId)).bytes.equals(file)) throw new Error('The file came back as another');
}
