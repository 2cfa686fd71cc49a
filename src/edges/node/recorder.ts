import { toAppError } from '../../kit/errors.ts';
import type { Known } from '../../commands/decider.ts';
import { type KnownBan, type RecordBan, RecordBans } from '../../commands/node/bans.ts';
import { type KnownFile, type RecordFile, RecordFiles } from '../../commands/node/files.ts';
import { dispatch } from '../bus.ts';
import type { Logger } from '../../kit/logger.ts';
import { recordedTraceparent, span } from '../../kit/tracing/tracing.ts';
import { wait } from '../../kit/wait.ts';
import type { Log } from '../../engine/log/log.ts';
import type { Bans } from './peers/bans.ts';
import type { StorageIndex } from './storage/storage-index.ts';
import type { Storage } from './storage/storage.ts';

/** The log, and the holdings and bans that a node writes to it. */
export type RecorderOptions = Readonly<{
  log: Pick<Log, 'append' | 'last' | 'lastOfAll'>;
  /** Of the node, in Bech32. */
  account: string;
  storage: Pick<Storage, 'index' | 'loaded'>;
  bans: Bans;
  logger: Logger;
  signal: AbortSignal;
}>;

/** Keeps the log up to date with the node. */
export type StorageRecorder = Readonly<{
  /** The holdings of a file may have changed: the next pass starts at once and checks it. */
  changed: (actionId: string) => void;
  /** Bans may have changed: the next pass starts at once. */
  wake: () => void;
  /** Returns whether the last pass reported everything to the log; true before the first one. */
  isTold: () => boolean;
  /** Settles once the signal has aborted and nothing is under way. */
  ended: Promise<void>;
}>;

const eachMs = 60_000;
const retryMs = 1_000;

/**
 * Reports to the log what a node holds and which peers it has banned, by comparing both with the log: everything after
 * a start, and then the files that changed.
 *
 * A file is held while all of its pieces lie here. The next start reports what a crash left unreported, and nothing is
 * reported twice. Bans of an earlier run that still last are in force again.
 */
export function startRecorder(options: RecorderOptions): StorageRecorder {
  const { account, logger, signal } = options;
  const changed = new Set<string>();
  const causes = new Set<string>();
  const files = new Map<string, Known<KnownFile | undefined>>();
  const peers = new Map<string, Known<KnownBan | undefined>>();
  let turn = new AbortController();
  let isReported = true;
  const run = async (): Promise<void> => {
    let isRead = false;
    while (!signal.aborted) {
      turn = new AbortController();
      let pauseMs = eachMs;
      try {
        if (!isRead) await startFrom(options, { files, peers, changed });
        isRead = true;
        await withinTraces(causes, () => recordFiles(options, { told: files, changed }));
        await recordBans(options, peers);
        isReported = true;
      } catch (caught) {
        isReported = false;
        const err = toAppError(caught);
        logger.warn({ err, account }, 'what the SuperNode holds was not told to the log yet');
        pauseMs = retryMs;
      }
      await wait(pauseMs, AbortSignal.any([signal, turn.signal]));
    }
  };
  return {
    changed: (actionId) => {
      changed.add(actionId);
      const cause = recordedTraceparent();
      if (cause !== undefined) causes.add(cause);
      turn.abort();
    },
    wake: () => turn.abort(),
    isTold: () => isReported,
    ended: run(),
  };
}

/** Runs a pass within the traces of the calls that changed something, and forgets them once it has succeeded. */
async function withinTraces(causes: Set<string>, pass: () => Promise<void>): Promise<void> {
  const parents = [...causes];
  if (parents.length === 0) return await pass();
  await span('record files', { parents }, pass);
  for (const parent of parents) causes.delete(parent);
}

type Reported = Readonly<{
  files: Map<string, Known<KnownFile | undefined>>;
  peers: Map<string, Known<KnownBan | undefined>>;
}>;

/** Reads the state in the log, and notes every file that it or this node knows. */
async function startFrom(
  options: RecorderOptions,
  notified: Reported & Readonly<{ changed: Set<string> }>,
): Promise<void> {
  const { loaded, index } = options.storage;
  await readBack(options, notified);
  await loaded;
  for (const actionId of index.files()) notified.changed.add(actionId);
  for (const file of notified.files.keys()) notified.changed.add(actionOf(file));
}

async function readBack({ log, account, bans }: RecorderOptions, { files, peers }: Reported): Promise<void> {
  for (const [name, { fact, sequence }] of await log.lastOfAll('file'))
    if ('file' in fact.data && fact.data.node === account) files.set(name, { state: fact.data.known, sequence });
  for (const [name, { fact, sequence }] of await log.lastOfAll('peer')) {
    if (!('pair' in fact.data) || fact.data.node !== account) continue;
    const { known, peer } = fact.data;
    peers.set(name, { state: known, sequence });
    if (known.banned) bans.restore(peer, known);
  }
}

async function recordFiles(
  { log, account, storage: { index } }: RecorderOptions,
  { told, changed }: Readonly<{ told: Reported['files']; changed: Set<string> }>,
): Promise<void> {
  const at = new Date().toISOString();
  const seen = [...changed];
  changed.clear();
  const news = new Map<string, RecordFile>();
  for (const action of seen) {
    const file = `${account}/${action}`;
    const held = heldOf(index, action);
    if (isNews(told.get(file)?.state, held)) news.set(file, { file, node: account, action, at, held });
  }
  if (news.size === 0) return;
  try {
    const { states } = await dispatch(log, new RecordFiles(news, { at }, told));
    for (const [file, known] of states) told.set(file, known);
  } catch (caught) {
    for (const action of seen) changed.add(action);
    throw caught;
  }
}

/** A node's holding of a file: all of it, or none that a client may rely on. */
function heldOf(index: Pick<StorageIndex, 'file' | 'lacking'>, actionId: string): RecordFile['held'] {
  const file = index.file(actionId);
  if (!file || index.lacking(actionId).length > 0) return undefined;
  return { bytes: String(file.size), pieces: file.pieces.length };
}

function isNews(known: KnownFile | undefined, held: RecordFile['held']): boolean {
  if (held === undefined) return known?.stored === true;
  return !known?.stored || known.bytes !== held.bytes || known.pieces !== held.pieces;
}

async function recordBans({ log, account, bans }: RecorderOptions, event: Reported['peers']): Promise<void> {
  const at = new Date().toISOString();
  const input = new Map<string, RecordBan>();
  for (const { peer, count, createdAtMs } of bans.all()) {
    const pair = `${account}/${peer.account}`;
    const ban = { count, since: new Date(createdAtMs).toISOString(), address: `${peer.ip}:${peer.port}` };
    const known = event.get(pair)?.state;
    if (known?.banned && known.since === ban.since && known.count === count) continue;
    input.set(pair, { pair, node: account, peer: peer.account, at, ban });
  }
  for (const [pair, { state }] of event)
    if (state?.banned && !bans.isBanned(actionOf(pair)))
      input.set(pair, { pair, node: account, peer: actionOf(pair), at, ban: undefined });
  if (input.size === 0) return;
  const { states } = await dispatch(log, new RecordBans(input, { at }, event));
  for (const [pair, known] of states) event.set(pair, known);
}

/** The action id in the name of an entity, which follows the node's account. */
function actionOf(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}
