import {
  forgets,
  isArchived,
  isProven,
  type StreamName,
  type StreamPolicies,
  type StreamPolicy,
  streams,
  streamTable,
} from '../../events/streams.ts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from '../../kit/logger.ts';
import { poll, repeat } from '../../kit/repeat.ts';
import { wait } from '../../kit/wait.ts';
import { Feed, FeedLost } from '../log/feed.ts';
import type { Leasing } from '../log/leases.ts';
import { ensureStreams, incarnationOf, streamName } from '../log/streams.ts';
import type { Pools } from '../models/pool.ts';
import { chained, hashOf, isSame, type RawLog, rawFrom, readRaw, streamInfo } from './chain.ts';
import { openTree, type Tree } from './proof/filling.ts';
import { keepCheckpoints, type CheckpointSigning } from './proof/signing.ts';
import { brakes, type SequenceRange, stateOf, type StreamState, streamStates } from './states.ts';
import { type ArchiveHead, type ArchiveStore, createArchiveStore } from './store.ts';

/** Both stores of one network. */
export type BothStores = RawLog & Readonly<{ store: ArchiveStore }>;

/** The stores of a network, each stream under its own policy. */
export function bothStoresOf(
  nc: NatsConnection,
  { network, pools, policies = streamTable }: Readonly<{ network: string; pools: Pools; policies?: StreamPolicies }>,
): BothStores {
  return { nc, network, policies, store: createArchiveStore(pools, network) };
}

/** The streams that have an archive. */
export const archivedStreams = ({ policies }: Pick<BothStores, 'policies'>): StreamName[] =>
  streams.filter((stream) => isArchived(policies[stream]));

/** Another leader writes the archive. */
class Deposed extends Error {}

/** The stream is not the one that the archive followed; scrubbing finds out what it is. */
export class StreamBroken extends Error {
  /** The range that is missing where the stream continues, and was never archived. */
  readonly gap: SequenceRange | undefined;
  constructor(message: string, gap?: SequenceRange) {
    super(message);
    this.gap = gap;
  }
}

const atOnce = 2000;
/** At most this share of the time goes into what is far behind, so that readers and read models come first. */
const restPerWork = 1;
const betweenFeedsMs = 200;

/** The state of a stream as the broker answers now; `head` is undefined where nothing was ever archived of it. */
export async function currentState(
  stores: BothStores,
  stream: StreamName,
): Promise<Readonly<{ head: ArchiveHead | undefined; state: StreamState }>> {
  const head = await stores.store.head(stream);
  const state = head ? stateOf(await streamInfo(stores, stream), head, stores.policies[stream]) : 'whole';
  return { head, state };
}

/**
 * Adds every later event to the archive, until the signal ends it.
 *
 * After a feed breaks, a new one resumes at the archive's end. Fails with `StreamBroken` where the stream does not
 * continue from there, and with `Deposed` when another process leads.
 */
export async function archiveStream(stores: BothStores, started: ArchiveHead, signal: AbortSignal): Promise<void> {
  const { stream } = started;
  let head = started;
  const tree = isProven(stores.policies[stream]) ? await openTree(stores.store, head) : undefined;
  const lost = await stores.store.gaps(stream);
  while (!signal.aborted) {
    await checkJoint(stores, head);
    const feed = await Feed.open(stores.nc, streamName(stream, stores.network), { after: head.position });
    const close = (): void => feed.close();
    signal.addEventListener('abort', close);
    try {
      while (!signal.aborted) head = await takeIn(stores, { feed, head, tree, lost, signal });
    } catch (caught) {
      // A broken connection proves nothing about the stream.
      if (!(caught instanceof FeedLost)) throw caught;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
    await wait(betweenFeedsMs, signal);
  }
}

type Intake = Readonly<{
  feed: Feed;
  head: ArchiveHead;
  tree: Tree | undefined;
  lost: readonly SequenceRange[];
  signal: AbortSignal;
}>;

/** Archives the events that have come, and returns the archive's new end. */
async function takeIn(stores: BothStores, { feed, head: before, tree, lost, signal }: Intake): Promise<ArchiveHead> {
  const head = { ...before, leaves: tree?.leaves ?? before.leaves };
  const { stream } = head;
  const messages = await feed.take(atOnce);
  const startedAt = performance.now();
  const events = messages.map(rawFrom);
  checkGaps(stream, { policy: stores.policies[stream], after: head.position, lost }, events);
  const links = chained(stream, events, head.hash);
  const growth = tree?.growth(head, events);
  if (!(await stores.store.extend(head, links, growth))) throw new Deposed(`another process archives ${stream}`);
  if (growth) tree?.grew(growth);
  const isFarBehind = (messages.at(-1)?.behind ?? 0) > atOnce;
  if (isFarBehind) await wait((performance.now() - startedAt) * restPerWork, signal);
  const last = links.at(-1);
  const after = last ? { ...head, position: last.sequence, hash: last.hash } : head;
  await tree?.fill(after);
  return after;
}

/** The event at the archive's end must be the one that the stream has there, or the stream has another history. */
async function checkJoint(stores: BothStores, head: ArchiveHead): Promise<void> {
  if (head.position === 0) return;
  const { store, stream } = { ...stores, ...head };
  const { links } = await store.read(stream, head.position - 1, 1);
  const [link] = links;
  for await (const [event] of readRaw(stores, stream, { after: head.position - 1, upTo: head.position })) {
    const isJoint = event && link && isSame(hashOf(stream, event, link.previous), head.hash);
    if (!isJoint) throw new StreamBroken(`${stream} holds another event at ${head.position} than the archive`);
    return;
  }
  if (!forgets(stores.policies[stream])) throw new StreamBroken(`${stream} has no event at ${head.position}`);
}

type Before = Readonly<{ policy: StreamPolicy; after: number; lost: readonly SequenceRange[] }>;

/** In a stream that keeps everything, only known losses may be missing. */
function checkGaps(stream: StreamName, { policy, after, lost }: Before, events: readonly { sequence: number }[]): void {
  if (forgets(policy)) return;
  let last = after;
  for (const { sequence } of events) {
    const gap = { first: last + 1, last: sequence - 1 };
    const isKnown = lost.some((one) => one.first <= gap.first && gap.last <= one.last);
    if (sequence !== last + 1 && !isKnown)
      throw new StreamBroken(`${stream} goes on at ${sequence} after ${last}, before it was archived`, gap);
    last = sequence;
  }
}

const drainRequestedEachMs = 50;

/**
 * Waits until the archive holds all events that the log holds now, so that none lies in one store alone; at most
 * `withinMs`.
 *
 * Returns whether it does. The process that keeps the archive continues meanwhile, and no other process should write.
 */
export async function drainArchive(stores: BothStores, withinMs: number): Promise<boolean> {
  const ends = await Promise.all(
    archivedStreams(stores).map(async (stream) => ({
      stream,
      last: (await streamInfo(stores, stream))?.state.last_seq ?? 0,
    })),
  );
  const isDrained = async (): Promise<true | undefined> => {
    const heads = await Promise.all(ends.map(({ stream }) => stores.store.head(stream)));
    return ends.every(({ last }, at) => (heads[at]?.position ?? 0) >= last) || undefined;
  };
  return (await poll(isDrained, { everyMs: drainRequestedEachMs, withinMs })) ?? false;
}

/** What keeping the archive takes. */
type KeeperOptions = BothStores &
  Readonly<{ leases: Leasing; log: Logger; signal: AbortSignal; signing?: CheckpointSigning | undefined }>;

const afterFailureMs = 1000;
const watchEachMs = 1000;
const checkEachMs = 5000;

/**
 * Keeps the archive of all streams until the signal ends it: adds new events, and notifies the auditor of a stream that
 * does not continue where the archive ends. One process at a time does so.
 *
 * Never fails: it logs failures and tries again.
 */
export async function keepArchive(options: KeeperOptions): Promise<void> {
  const { leases, log, signal, signing } = options;
  const hold = (): Promise<void> =>
    leases.hold('archive', signal, async (lease) => {
      const streaming = archivedStreams(options).map((stream) => keepStream(options, stream, lease.signal));
      const others = keepUnarchived(options, lease.signal);
      await Promise.all([...streaming, others, signing && keepCheckpoints(signing, lease.signal)]);
    });
  await repeat('archive gave up its lease', hold, { everyMs: afterFailureMs, log, signal });
}

/** Creates streams without an archive anew where the broker has lost them: nothing could be brought back. */
async function keepUnarchived(options: KeeperOptions, signal: AbortSignal): Promise<void> {
  const { nc, network, policies, log } = options;
  const only = streams.filter((stream) => !isArchived(policies[stream]));
  const check = async (): Promise<void> => {
    const infos = await Promise.all(only.map((stream) => streamInfo(options, stream)));
    if (infos.includes(undefined)) await ensureStreams(nc, network, { policies, only });
  };
  await repeat('a stream without an archive was not checked', check, { everyMs: checkEachMs, log, signal });
}

/** A gap that was met, and when. */
type Gap = Readonly<{ range: SequenceRange; at: number }>;

async function keepStream(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, log } = options;
  let gap: Gap | undefined;
  const follow = async (): Promise<void> => {
    try {
      await followOnce(options, stream, signal);
    } catch (err) {
      if (err instanceof StreamBroken && !signal.aborted) {
        await store.suspect(stream, err.message).catch(() => undefined);
        gap = await judgeGap(options, stream, { met: err.gap, before: gap }).catch(() => gap);
      }
      throw err;
    }
  };
  const again = { everyMs: 0, retryMs: afterFailureMs, log: log.child({ stream }), signal };
  await repeat('archive of a stream waits', follow, again);
}

/** Follows the stream until something is wrong with it. */
async function followOnce(options: KeeperOptions, stream: StreamName, signal: AbortSignal): Promise<void> {
  const { store, nc, network, policies } = options;
  // The head first: it may otherwise be ahead of older counts.
  const [known, info] = [await store.head(stream), await streamInfo(options, stream)];
  // Where nothing was archived or followed there is nothing that could be brought back but the name.
  if (!info && (known?.position ?? 0) + (known?.followed ?? 0) === 0)
    return await ensureStreams(nc, network, { policies, only: [stream], incarnation: known?.incarnation });
  const state = known ? stateOf(info, known, policies[stream]) : 'whole';
  if (state !== 'whole' || !info) throw new Error(`${stream} is ${state}: what it lacks comes back first`);
  const led = await store.lead(stream, incarnationOf(info));
  const ending = new AbortController();
  const either = AbortSignal.any([signal, ending.signal]);
  const watching = watchHead(options, led, either).then(() => ending.abort());
  try {
    await archiveStream(options, led, either);
  } finally {
    ending.abort();
    await watching;
  }
}

/** Ends when the archive is not the one that is led here: another leads, or the database was made anew. */
async function watchHead({ store }: KeeperOptions, led: ArchiveHead, signal: AbortSignal): Promise<void> {
  const watch = async (): Promise<'done' | void> => {
    const head = await store.head(led.stream);
    if (head?.epoch !== led.epoch) return 'done';
  };
  await repeat('the archive was not watched', watch, { everyMs: watchEachMs, firstMs: watchEachMs, signal });
}

/**
 * Records events as lost that are missing where the stream continues and were never archived, once they were missed
 * twice, some time apart.
 */
async function judgeGap(
  { store, log }: KeeperOptions,
  stream: StreamName,
  { met, before }: Readonly<{ met: SequenceRange | undefined; before: Gap | undefined }>,
): Promise<Gap | undefined> {
  if (!met) return undefined;
  const isAgain = before?.range.first === met.first && before.range.last === met.last;
  if (!isAgain) return { range: met, at: performance.now() };
  if (performance.now() - before.at < brakes.confirmAfterMs) return before;
  await store.recordLoss({ stream, ...met, ids: [], reason: 'missing in the stream, and not archived before' });
  log.error({ stream, ...met }, 'events are lost: they are missing in the stream and were never archived');
  return undefined;
}

/**
 * Returns what prevents writes to a stream: that it lacks events which the archive or a read model knows, which a
 * broker that was away may have lost.
 *
 * Fails while the database does not answer, for then the answer is unknown.
 */
export function obstacleIn({
  network,
  pools,
}: Readonly<{ network: string; pools: Pools }>): (
  nc: NatsConnection,
  stream: StreamName,
) => Promise<string | undefined> {
  return async (nc, stream) => {
    const stores = bothStoresOf(nc, { network, pools });
    const { state } = await currentState(stores, stream);
    return streamStates[state].mayWrite ? undefined : 'it may have lost events, and they are not back yet';
  };
}
