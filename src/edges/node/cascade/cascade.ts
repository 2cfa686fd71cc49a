import path from 'node:path';
import type { ConnectRouter } from '@connectrpc/connect';
import type { PrivateKey } from '../../chain/sign/keys.ts';
import { CascadeService } from '../../gen/cascade/service_pb.ts';
import type { ChainClient } from '../../chain/rest/client.ts';
import type { ListenAddress } from '../../../kit/listen.ts';
import type { Logger } from '../../../kit/logger.ts';
import { type StorageRecorder, type RecorderOptions, startRecorder } from '../recorder.ts';
import type { Haste } from '../peers/giving.ts';
import { joinPeers, type Peers } from '../peers/peers.ts';
import { createDiagnostics, type Diagnostics } from '../status/diagnostics.ts';
import type { Scrub, ScrubPace } from '../storage/scrub.ts';
import { openStorage, type Storage } from '../storage/storage.ts';
import { createCascadeChain } from '../../chain/files/chain.ts';
import { download } from './download.ts';
import { createFinalizer } from './finalize.ts';
import { register } from './register.ts';
import { createCallTurns, createTasks, type Tasks } from './tasks.ts';
import { startUpkeep } from './upkeep.ts';

/** How large one file may be, and all together: -1 for as many bytes as the disk has. */
export type FileBounds = Readonly<{
  storageBytes: number;
  maxFileBytes: number;
  /** Copies of each piece that there should be, and when a node that is gone no longer counts as one. */
  copies: number;
  repairAfterMs: number;
  /** Whether nodes at addresses that are not public may be dialled. */
  allowPrivate: boolean;
  /** Interval of repairs of copies; a minute unless set. */
  repairEachMs?: number | undefined;
  /** How long a peer may take while a client waits; 2 s for a manifest and 5 s for a piece unless set. */
  limitsMs?: Haste['limitsMs'] | undefined;
  /** How fast pieces are scrubbed; 4 MiB/s, once a day, unless set. */
  scrubPace?: ScrubPace | undefined;
}>;

/** Options of a node that accepts files, beside those of every node. */
export type CascadeOptions = FileBounds &
  Readonly<{
    /** Where files lie; by default in the node's folder. */
    storageFolder?: string | undefined;
  }>;

/** The files of a node. */
export type Cascade = Readonly<{
  storage: Storage;
  scrub: Scrub;
  /** Returns whether the log holds everything that the node holds; undefined without a log. */
  isLogTold: () => boolean | undefined;
  tasks: Tasks;
  diagnostics: Diagnostics;
  peers: Peers;
  /** Serves CascadeService. */
  serve: (router: ConnectRouter) => void;
}>;

const messageBytes = 16 * 2 ** 20;

/** The node whose files they are. */
export type CascadeNode = Readonly<{
  folder: string;
  /** Of the node's account: finalizations are signed with it. */
  key: PrivateKey;
  account: string;
  chain: ChainClient;
  addressPrefix: string;
  place: ListenAddress;
  logger: Logger;
  signal: AbortSignal;
  silenceMs?: number;
  /** Whose addresses stand for many callers. */
  trustedProxies?: readonly string[] | undefined;
  /** The log to which the node reports what it holds; without it, it reports nothing. */
  log?: RecorderOptions['log'] | undefined;
}>;

/** Opens the files of a node, and removes now and then what belongs to none. */
export async function openCascade(options: CascadeOptions, node: CascadeNode): Promise<Cascade> {
  const { storageBytes: bound, storageFolder = path.join(node.folder, 'storage') } = options;
  let recorder: StorageRecorder | undefined;
  const storage = await openStorage({
    folder: storageFolder,
    bound,
    onChange: (actionId) => recorder?.changed(actionId),
  });
  const tasks = createTasks();
  const diagnostics = createDiagnostics();
  const chain = createCascadeChain(node.chain, node);
  const peers = await joinPeers({
    ...options,
    ...node,
    storage,
    diagnostics,
    actions: chain,
    onBan: () => recorder?.wake(),
  });
  const { log, account, logger, signal } = node;
  if (log) recorder = startRecorder({ log, account, storage, bans: peers.bans, logger, signal });
  const dependencies = {
    account: node.account,
    chain,
    copies: peers.copies,
    finalizer: createFinalizer(node.chain, node.key),
    storage,
    tasks,
    diagnostics,
    maxFileBytes: options.maxFileBytes,
    copyCount: options.copies,
    turns: createCallTurns(node.trustedProxies),
  };
  const scrub = startUpkeep({ ...options, storage, chain, copies: peers.copies, logger, signal });
  return {
    storage,
    scrub,
    isLogTold: () => recorder?.isTold(),
    tasks,
    diagnostics,
    peers,
    serve: (router) =>
      router.service(
        CascadeService,
        {
          register: (requests, context) => register(dependencies, requests, context),
          download: (request, context) => download(dependencies, request, context),
        },
        { readMaxBytes: messageBytes },
      ),
  };
}
