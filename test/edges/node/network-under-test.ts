import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Ledger } from '../../../src/edges/ledger/run-ledger.ts';
import { castOf, type RealNode } from '../../../src/edges/local-network/cast.ts';
import { registerNodes } from '../../../src/edges/local-network/local-network.ts';
import type { FileBounds } from '../../../src/edges/node/cascade/cascade.ts';
import type { Peer } from '../../../src/edges/node/peers/directory.ts';
import { type Answering, openPeerHost, type PeerHost } from '../../../src/edges/node/peers/host.ts';
import type { NodeOptions } from '../../../src/edges/node/start-node.ts';
import { createDiagnostics } from '../../../src/edges/node/status/diagnostics.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { freshLog, seed, silent, startLedger } from '../ledger/ledger-under-test.ts';
import { fileBounds } from './files-under-test.ts';
import { type NodeUnderTest, nodeUnderTest } from './node-under-test.ts';

export const ports = { grpc: 4444, p2p: 4445, http: 8002 };

/** Bounds under which a busy machine makes no peer slow. */
export const patient: Partial<FileBounds> = { limitsMs: { putManifest: 60_000, putPiece: 60_000 } };

/** A node of the network under test, and where its files lie. */
export type StoringNode = NodeUnderTest & Readonly<{ account: string; storageFolder: string }>;

/** A ledger that lists nodes on loopback addresses of their own; a test says which of them run. */
export type NetworkUnderTest = Readonly<{
  ledger: Ledger;
  cast: readonly RealNode[];
  start: (
    node: RealNode,
    storageFolder?: string,
    bounds?: Partial<FileBounds>,
    options?: Partial<NodeOptions>,
  ) => Promise<StoringNode>;
  /** Answers peers under the account of a node as the test says, instead of it. */
  impersonate: (node: RealNode, answering: Answering) => Promise<PeerHost>;
}>;

/** Opens a network of so many nodes; it ends with the stack. */
export async function networkUnderTest(
  undo: AsyncDisposableStack,
  count: number,
  bounds: Partial<FileBounds> = {},
): Promise<NetworkUnderTest> {
  const subnet = `127.${1 + Math.floor(Math.random() * 250)}.${Math.floor(Math.random() * 250)}`;
  const cast = castOf(seed, subnet).realNodes.slice(0, count);
  const fresh = undo.use(await freshLog());
  const ledger = undo.use(await startLedger(fresh.log));
  await registerNodes(ledger, cast);
  return {
    ledger,
    cast,
    start: async ({ host, account }, given, own = {}, more = {}) => {
      const storageFolder = given ?? folderOf(undo);
      const cascade = {
        ...fileBounds,
        repairAfterMs: 60_000,
        repairEachMs: 500,
        ...bounds,
        ...own,
        storageFolder,
      };
      const options = { host, ports, key: account.key, chainUrl: ledger.url, cascade, snapshotMs: 100, ...more };
      const node = undo.use(await nodeUnderTest(options));
      return { ...node, account: account.account, storageFolder };
    },
    impersonate: async ({ host, account }, answering) => {
      const place = { host, port: ports.p2p, what: 'a test', remedy: '' };
      const options = { place, key: account.key, logger: silent, answering, diagnostics: createDiagnostics() };
      const opened = await openPeerHost(options);
      undo.defer(opened.close);
      return opened;
    },
  };
}

function folderOf(undo: AsyncDisposableStack): string {
  const { folder, remove } = freshFolder();
  undo.defer(remove);
  return folder;
}

/** Where a node of the cast answers peers. */
export function peerOf({ host: ip, account: { account } }: RealNode): Peer {
  return { account, ip, port: ports.p2p, isActive: true };
}

/** Names of the pieces that lie in a store. */
export async function piecesIn(storageFolder: string): Promise<string[]> {
  const entries = await readdir(path.join(storageFolder, 'pieces'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Removes all pieces of a store, behind its back. */
export async function loseAllPieces(storageFolder: string): Promise<void> {
  for (const name of await piecesIn(storageFolder))
    await rm(path.join(storageFolder, 'pieces', name.slice(0, 2), name));
}

/** The heavy part of a status, as HTTP tells it. */
type Shown = Readonly<{
  ban_list: readonly unknown[];
  dht_metrics: Readonly<{
    store_success_recent: readonly Readonly<{ requests: number; successful: number; success_rate: number }>[];
    batch_retrieve_recent: readonly Readonly<{ keys: number; found_local: number; found_network: number }>[];
    hot_path_banned_skips: string;
    hot_path_ban_increments: string;
  }>;
  network_handle_metrics: Readonly<Record<string, Readonly<Record<string, string>>>>;
  conn_pool_metrics: Readonly<Record<string, string>>;
  disk: Readonly<{ all_mb: number; used_mb: number; free_mb: number }>;
}>;

/** What a node shows of its peers. */
export async function shownBy(node: { http: string }): Promise<{
  network: { peers_count: number; peer_addresses: readonly string[] };
  p2p_metrics: Shown;
}> {
  return (await (await fetch(`${node.http}/api/v1/status?include_p2p_metrics=true`)).json()) as never;
}
