import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import { identify } from '@libp2p/identify';
import type { Connection, MultiaddrConnection } from '@libp2p/interface';
import { ping } from '@libp2p/ping';
import { tcp } from '@libp2p/tcp';
import { multiaddr } from '@multiformats/multiaddr';
import { createLibp2p } from 'libp2p';
import { AppError } from '../../../kit/errors.ts';
import type { ListenAddress } from '../../../kit/listen.ts';
import { whileAwake } from '../../../kit/wait.ts';
import type { Diagnostics } from '../status/diagnostics.ts';
import type { Peer } from './directory.ts';

const dialMs = 5_000;
const perSecond = 200;
/** A peer that is frozen or cut off is gone within a minute; one that is merely busy answers within this. */
const usualHeartbeat = { everyMs: 20_000, withinMs: 15_000 } as const;

/** Of one connection at once, either way. */
export const streams = 64;

/** The libp2p node behind a port for peers. */
export type Node = Awaited<ReturnType<typeof createNode>>;

/**
 * Heartbeats of a connection: their interval, and the time within which the peer must answer or the connection is cut,
 * which is the shorter one: a second heartbeat beside an unanswered one cuts a connection that is only slow.
 */
export type Heartbeat = Readonly<{ everyMs: number; withinMs: number }>;

type NodeBounds = Readonly<{
  handshakeMs: number;
  connections: number;
  heartbeat?: Heartbeat | undefined;
  /** Judges each connection that comes in before its handshake. */
  admit?: (incoming: MultiaddrConnection) => boolean;
}>;

/** A libp2p node that accepts no connections yet; its peer id is new with each start. */
export async function createNode(
  { host, port }: ListenAddress,
  { handshakeMs, connections, heartbeat = usualHeartbeat, admit = () => true }: NodeBounds,
) {
  return await createLibp2p({
    start: false,
    addresses: { listen: [addressOf(host, port)] },
    transports: [tcp(dialledFrom(host))],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux({ maxInboundStreams: streams, maxEarlyStreams: streams })],
    connectionGater: { denyInboundConnection: (incoming) => !admit(incoming) },
    services: { identify: identify(), ping: ping() },
    connectionMonitor: {
      pingInterval: heartbeat.everyMs,
      pingTimeout: { minTimeout: heartbeat.withinMs, maxTimeout: heartbeat.withinMs },
    },
    connectionManager: {
      maxConnections: connections,
      inboundConnectionThreshold: perSecond,
      // Those are bounded by who admits them.
      maxIncomingPendingConnections: connections + 1,
      inboundUpgradeTimeout: handshakeMs,
      reconnectRetries: 0,
    },
  });
}

/** One connection for each peer, dialled when it is needed; it counts opened and closed connections. */
export function dialler(node: Node, { pool }: Pick<Diagnostics, 'pool'>): (peer: Peer) => Promise<Connection> {
  node.addEventListener('connection:open', () => pool.add('adds_total'));
  node.addEventListener('connection:prune', ({ detail }) => pool.add('evictions_lru_total', detail.length));
  const open = new Map<string, Promise<Connection>>();
  return async (peer) => {
    const before = open.get(peer.account);
    const known = await before?.catch(() => undefined);
    if (known?.status === 'open') {
      pool.add('reuse_hits_total');
      return known;
    }
    const meanwhile = open.get(peer.account);
    if (meanwhile && meanwhile !== before) {
      pool.add('reuse_hits_total');
      return await meanwhile;
    }
    pool.add('misses_total');
    if (known) pool.add('replacements_total');
    const address = multiaddr(addressOf(peer.ip, peer.port));
    const dialling = whileAwake(dialMs, undefined, async (signal) => await node.dial(address, { signal }));
    open.set(peer.account, dialling);
    return await dialling;
  };
}

/** Opens the port; fails with `UNAVAILABLE` that names it where it cannot be had. */
export async function start(node: Node, position: ListenAddress): Promise<void> {
  try {
    await node.start();
  } catch (caught) {
    const { host, port, what, remedy } = position;
    throw new AppError('UNAVAILABLE', `Port ${port} of ${host} cannot be opened for ${what}. ${remedy}`, {
      cause: caught,
    });
  }
}

/** A node of several addresses dials from the one that the chain lists: its peers know it by that. */
function dialledFrom(host: string): Parameters<typeof tcp>[0] {
  const dialOpts = { noDelay: true, localAddress: host };
  return ['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost'].includes(host) ? {} : { dialOpts };
}

function addressOf(host: string, port: number): string {
  return `/${host.includes(':') ? 'ip6' : 'ip4'}/${host}/tcp/${port}`;
}
