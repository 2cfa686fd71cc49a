import { isIP } from 'node:net';
import { type ChainClient, readHead } from '../../chain/rest/client.ts';
import { pagesOf } from '../../chain/rest/listings.ts';
import { parseSuperNode } from '../../chain/rest/records.ts';
import { asObject, attempt, BadRecord } from '../../chain/rest/values.ts';
import { targetOf } from '../../chain/rest/target.ts';

/** A node of the chain's list as its peers reach it. */
export type Peer = Readonly<{ account: string; ip: string; port: number; isActive: boolean }>;

/** The nodes and their accounts, according to the chain. */
export type Directory = Readonly<{
  /** Nodes with literal addresses that may be dialled, as the chain had them at most 10 s ago. */
  nodes: () => Promise<readonly Peer[]>;
  /** The node of an account as the chain had it when it was last read; nothing is read for it. */
  known: (account: string) => Peer | undefined;
  /** Whether a node of that list has an address. */
  isAddress: (ip: string) => boolean;
}>;

/** Which addresses may be dialled, and how a chain's list is read. */
export type DirectoryOptions = Readonly<{
  chain: ChainClient;
  addressPrefix: string;
  allowPrivate: boolean;
  signal: AbortSignal;
}>;

const holdsMs = 10_000;
const pageSize = 200;

/**
 * Reads the chain's list of nodes when a caller needs it and it is not fresh; while that fails, the last list counts.
 */
export function createDirectory(options: DirectoryOptions): Directory {
  let last: { nodes: readonly Peer[]; atMs: number } | undefined;
  let reading: Promise<readonly Peer[]> | undefined;
  const read = async (): Promise<readonly Peer[]> => {
    const nodes = await readNodes(options);
    last = { nodes, atMs: performance.now() };
    return nodes;
  };
  return {
    nodes: async () => {
      if (last && performance.now() - last.atMs < holdsMs) return last.nodes;
      reading ??= read().finally(() => (reading = undefined));
      return await reading.catch((caught: unknown) => {
        if (last) return last.nodes;
        throw caught;
      });
    },
    known: (account) => last?.nodes.find((node) => node.account === account),
    isAddress: (ip) => last?.nodes.some((node) => node.ip === ip) ?? false,
  };
}

async function readNodes({ chain, addressPrefix, allowPrivate, signal }: DirectoryOptions): Promise<readonly Peer[]> {
  const session = chain.session(signal);
  const { height } = await readHead(session);
  const listing = { route: '~/supernode/v1/list_super_nodes', field: 'supernodes', height, pageSize };
  const peers: Peer[] = [];
  for await (const page of pagesOf(session, { ...listing, leaveOut: () => undefined }))
    for (const one of page) {
      const parsed = attempt(() => peerOf(asObject(one) ?? {}, addressPrefix, allowPrivate));
      if ('value' in parsed) peers.push(parsed.value);
    }
  return peers;
}

function peerOf(record: Readonly<Record<string, unknown>>, prefix: string, allowPrivate: boolean): Peer {
  const { account, address, p2pPort, state } = parseSuperNode(record, prefix);
  const target = targetOf(address, { allowPrivate, allowHostNames: false });
  const port = Number(p2pPort || '4445');
  if (target.kind !== 'ip' || isIP(target.ip) === 0 || !(port > 0 && port < 65_536))
    throw new BadRecord('its address is none that may be dialled');
  return { account, ip: target.ip, port, isActive: state === 'active' };
}
