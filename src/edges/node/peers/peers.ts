import type { PrivateKey } from '../../chain/sign/keys.ts';
import type { ListenAddress } from '../../../kit/listen.ts';
import type { Logger } from '../../../kit/logger.ts';
import { hostPort } from '../../../kit/net-address.ts';
import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Storage } from '../storage/storage.ts';
import { createAcceptance } from './acceptance.ts';
import { answerFrom } from './answers.ts';
import { type Bans, createBans } from './bans.ts';
import { type Copies, createCopies } from './copies.ts';
import { createDirectory, type DirectoryOptions, type Peer } from './directory.ts';
import { type Answering, openPeerHost, type PeerHost, type Remote } from './host.ts';
import type { Haste } from './giving.ts';
import { createNeighbours } from './neighbours.ts';
import { createPlacement } from './placement.ts';

/** A node among its peers. */
export type Peers = Readonly<{
  /** That the others reach it at. */
  port: number;
  copies: Copies;
  bans: Bans;
  /** Those that are connected, `account@ip:port`, at the address that the chain has of them. */
  connected: () => readonly string[];
  connections: PeerHost['connections'];
  close: () => Promise<void>;
}>;

/** Options of a node's peers. */
export type PeersOptions = DirectoryOptions &
  Readonly<{
    place: ListenAddress;
    key: PrivateKey;
    account: string;
    storage: Storage;
    diagnostics: Diagnostics;
    actions: CascadeChain;
    /** Bytes that the store may have, -1 for as many as its disk. */
    storageBytes: number;
    /** Copies of each piece that there should be. */
    copies: number;
    /** When a node that is gone no longer counts as holding one. */
    repairAfterMs: number;
    /** How long a peer may take while a client waits for a file. */
    limitsMs?: Haste['limitsMs'] | undefined;
    logger: Logger;
    silenceMs?: number;
    /** Is called whenever a peer misbehaved. */
    onBan?: () => void;
  }>;

/** Opens the port for peers and answers them from the store; fails with `UNAVAILABLE` where it cannot be had. */
export async function joinPeers(options: PeersOptions): Promise<Peers> {
  const { storage, diagnostics, actions: chain } = options;
  const directory = createDirectory(options);
  const bans = createBans(() => Date.now(), options.onBan);
  const onLie = (by: Peer): void => {
    bans.count(by);
    diagnostics.hotPath.add('banIncrements');
  };
  const acceptance = createAcceptance({ storage, mostOffered: mostOfferedOf(options.storageBytes), onLie });
  const answering = Promise.withResolvers<Answering>();
  const host = await openPeerHost({
    ...options,
    answering: async (request, account) => await (await answering.promise)(request, account),
    isListed: async (account) => (await directory.nodes()).some((node) => node.account === account),
    isListedAddress: directory.isAddress,
  });
  const neighbours = createNeighbours({ ...options, host, directory, bans });
  const placement = createPlacement({ ...options, chain, neighbours });
  const copies = createCopies({ ...options, neighbours, placement, bans, isTrue: acceptance.isTrue });
  answering.resolve(answerFrom({ storage, directory, chain, bans, acceptance, placement, onLie }));
  const addressed = (remote: Remote): string => {
    const { account, ip, port } = directory.known(remote.account) ?? remote;
    return `${account}@${hostPort(ip, port)}`;
  };
  const connected = (): string[] => host.connected().map(addressed);
  return { port: host.port, copies, bans, connected, connections: host.connections, close: host.close };
}

const unboundedOffers = 64 * 2 ** 30;

/** Bytes of unfinished files that one peer may offer, of one file at least: an eighth of a store. */
function mostOfferedOf(storageBytes: number): number {
  return storageBytes < 0 ? unboundedOffers : storageBytes / 8;
}
