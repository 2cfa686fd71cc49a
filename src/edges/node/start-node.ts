import { mkdir } from 'node:fs/promises';
import type { ConnectRouter } from '@connectrpc/connect';
import { accountOf, type PrivateKey, publicKeyOf } from '../chain/sign/keys.ts';
import type { ChainClient } from '../chain/rest/client.ts';
import type { ListenAddress } from '../../kit/listen.ts';
import type { Logger } from '../../kit/logger.ts';
import { channelOpener } from '../rpc/channel/open-channel.ts';
import { createRpcHandler } from '../rpc/handler.ts';
import { openRpcPort } from '../rpc/server.ts';
import type { TlsFiles } from '../rpc/tls.ts';
import { type Cascade, type CascadeOptions, openCascade } from './cascade/cascade.ts';
import { createGuests } from './guests.ts';
import { openStatusPort } from './http/status-port.ts';
import type { Processor } from './machine/processor.ts';
import { type NodeReport, stateOf } from './observed.ts';
import { openPeersPort } from './peers-port.ts';
import { bytePaths, type GiveStatus, registerNode, servicesServed } from './services.ts';
import type { Reader } from '../../engine/models/read/reading.ts';
import type { RecorderOptions } from './recorder.ts';
import { statusGiver } from './status/give-status.ts';

/** Ports of a SuperNode: its gRPC, its peers, its HTTP status. */
export type NodePorts = Readonly<{ grpc: number; p2p: number; http: number }>;

/** Everything that a node runs on. */
export type NodeOptions = Readonly<{
  host: string;
  /** 0 picks a free one. */
  ports: NodePorts;
  /** Where its data lie; made where it is not there. */
  folder: string;
  /** Of its account on the chain. */
  key: PrivateKey;
  /** Whether it answers on the real network's secure channel too. */
  secure: boolean;
  /** With it, its gRPC is plain no more. */
  tls?: TlsFiles | undefined;
  chain: ChainClient;
  addressPrefix: string;
  /** Of the program. */
  version: string;
  processor: () => Promise<Processor>;
  /** How long a snapshot of the heavy part is as good as new. */
  snapshotMs: number;
  /** The log to which it reports what it holds and which peers it has banned; without it, it reports nothing. */
  log?: RecorderOptions['log'] | undefined;
  /** The read models of the log's account of its files; without them, it shows none. */
  models?: Pick<Reader, 'read'> | undefined;
  /** Its files; without, it takes none. */
  cascade?: CascadeOptions | undefined;
  logger: Logger;
  /** How long a connection may be half open, and a call without a byte; 30 s unless set. */
  silenceMs?: number;
  /** How long a connection without a call stays, and how many one address has on GRPC_PORT; see the RPC port. */
  idleMs?: number | undefined;
  mostPerAddress?: number | undefined;
  /** Addresses and subnets of proxies, which stand for many callers. */
  trustedProxies?: readonly string[] | undefined;
}>;

/** A SuperNode that runs. */
export type RunningNode = Readonly<{
  host: string;
  ports: NodePorts;
  observe: () => Promise<NodeReport>;
  /** Closes its ports and disconnects every client. */
  stop: () => Promise<void>;
}>;

/**
 * Starts a SuperNode: its status over RPC and HTTP, and its port for other nodes.
 *
 * Fails with `UNAVAILABLE` that names the port which cannot be had; then nothing of it is left open.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { host, folder, logger } = options;
  await mkdir(folder, { recursive: true });
  const ending = new AbortController();
  const opened: { grpc: number; p2p: number; http: number } = { ...options.ports };
  const closers: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    ending.abort();
    await Promise.all(closers.map((close) => close()));
  };
  const account = accountOf(publicKeyOf(options.key));
  const live = { account, grpcPort: () => opened.grpc, signal: ending.signal };
  const cascade =
    options.cascade && (await openCascade(options.cascade, { ...options, ...live, place: peersPosition(options) }));
  if (cascade) closers.push(cascade.peers.close);
  const { giveStatus, onChain } = statusGiver({ ...options, ...live, files: cascade });
  try {
    for (const [name, open] of Object.entries(openers) as [keyof NodePorts, Opener][]) {
      const { port, close } = await open(options, { account, giveStatus, cascade });
      opened[name] = port;
      closers.push(close);
    }
  } catch (caught) {
    await stop();
    throw caught;
  }
  logger.info({ host, ...opened, account }, 'SuperNode runs');
  return { host, ports: opened, observe: async () => await stateOf(cascade, onChain().isReached), stop };
}

type Served = Readonly<{ account: string; giveStatus: GiveStatus; cascade: Cascade | undefined }>;
type Opener = (options: NodeOptions, served: Served) => Promise<{ port: number; close: () => Promise<void> }>;

const usualSilenceMs = 30_000;
/** Bytes a second of a file that is received, as the gateway has it. */
const leastRate = 16 * 1024;

/** How each port is opened, in this order. */
const openers: Readonly<Record<keyof NodePorts, Opener>> = {
  grpc: async (options, { giveStatus, cascade }) => {
    const { host, ports, key, secure, tls, chain, logger, silenceMs = usualSilenceMs, idleMs } = options;
    const pace = { paths: bytePaths, bytesPerSecond: leastRate, windowMs: silenceMs };
    const { trustedProxies = [] } = options;
    const routes = (router: ConnectRouter): void => registerNode(router, giveStatus, { cascade, trustedProxies });
    return await openRpcPort({
      place: positionOf(host, ports.grpc, 'GRPC_PORT', 'the gRPC of a SuperNode'),
      handler: createRpcHandler(routes, logger, { pace }),
      tls,
      openChannel: secure ? channelOpener({ key, isWelcome: createGuests(chain) }) : undefined,
      logger,
      silenceMs,
      ...(idleMs !== undefined && { idleMs }),
      mostPerAddress: options.mostPerAddress,
      trustedProxies,
    });
  },
  p2p: async (options, { cascade }) =>
    cascade
      ? { port: cascade.peers.port, close: async () => undefined }
      : await openPeersPort(peersPosition(options), options.silenceMs),
  http: async ({ host, ports, version, models, logger, silenceMs }, { account, giveStatus, cascade }) =>
    await openStatusPort({
      place: positionOf(host, ports.http, 'NODE_HTTP_PORT', 'the status of a SuperNode'),
      giveStatus,
      account,
      models,
      scrubbed: () => cascade?.scrub.states().last,
      services: servicesServed(cascade !== undefined),
      version,
      logger,
      silenceMs,
    }),
};

function peersPosition({ host, ports }: NodeOptions): ListenAddress {
  return positionOf(host, ports.p2p, 'P2P_PORT', 'the peers of a SuperNode');
}

function positionOf(host: string, port: number, setting: string, what: string): ListenAddress {
  const isExtraLoopback = host.startsWith('127.') && host !== '127.0.0.1';
  const remedy = isExtraLoopback
    ? `Stop what uses it; where ${host} is no address of this machine, give it one (macOS: sudo ifconfig lo0 alias ${host} up).`
    : `Stop what uses it, or set ${setting}.`;
  return { host, port, what, remedy };
}
