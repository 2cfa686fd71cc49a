import { forgets, type StreamName, type StreamPolicies, type StreamPolicy, streamTable } from '../../events/streams.ts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pools } from '../models/pool.ts';
import { Feed } from '../log/feed.ts';
import { incarnationOf, streamName } from '../log/streams.ts';
import { chained, hashOf, isSame } from './chain.ts';
import { type RawLog, rawFrom, readRaw, streamInfo } from './raw.ts';
import { heldMark, restoringKey } from './restore.ts';
import { type ArchiveHead, type ArchiveStore, createArchiveStore } from './store.ts';
import type { Range, StreamState } from './damage.ts';

/** Both stores of one network. */
export type BothStores = RawLog & Readonly<{ store: ArchiveStore }>;

/** The stores of a network, each stream treated as its policy says. */
export function bothStoresOf(
  nc: NatsConnection,
  { network, pools, policies = streamTable }: Readonly<{ network: string; pools: Pools; policies?: StreamPolicies }>,
): BothStores {
  return { nc, network, policies, store: createArchiveStore(pools, network) };
}

/** Another leader writes the archive. */
export class Deposed extends Error {}

/** The stream is not what the archive followed; scrubbing tells what it is. */
export class StreamBroken extends Error {
  /** Events that are missing where the stream goes on, and were never archived. */
  readonly gap: Range | undefined;
  constructor(message: string, gap?: Range) {
    super(message);
    this.gap = gap;
  }
}

const atOnce = 2000;
/** At most this share of the time goes into what is far behind, so that readers and read models come first. */
const restPerWork = 1;

/** How a stream stands against the archive's end, told from its ends alone and the event at the archive's end. */
export async function lookAt(stores: BothStores, stream: StreamName, head: ArchiveHead): Promise<StreamState> {
  const info = await streamInfo(stores, stream);
  if (!info) return 'missing';
  const mark = info.config.metadata?.[restoringKey];
  if (mark !== undefined && mark !== heldMark) return 'restoring';
  const sound = mark === heldMark ? 'held' : 'whole';
  if (head.position === 0) return sound;
  if (incarnationOf(info) !== head.incarnation) return 'other life';
  const { messages, last_seq: last } = info.state;
  if (last < Math.max(head.position, head.followed)) return 'short';
  return !forgets(stores.policies[stream]) && messages + head.lost < last ? 'holes' : sound;
}

/**
 * Adds everything to the archive that comes after its end, until the signal ends it.
 *
 * Fails with `StreamBroken` where the stream does not go on from there, and with `Deposed` when somebody else leads.
 */
export async function archiveStream(
  stores: BothStores,
  begun: ArchiveHead,
  { signal, onArchived }: Readonly<{ signal: AbortSignal; onArchived: (head: ArchiveHead) => void }>,
): Promise<ArchiveHead> {
  const { stream } = begun;
  const policy = stores.policies[stream];
  let head = begun;
  const lost = (await stores.store.losses()).filter((loss) => loss.stream === stream);
  await checkJoint(stores, head);
  const feed = await Feed.open(stores.nc, streamName(stream, stores.network), { after: head.position });
  const close = (): void => feed.close();
  signal.addEventListener('abort', close);
  if (signal.aborted) close();
  try {
    for (;;) {
      const messages = await feed.take(atOnce).catch(() => []);
      if (messages.length === 0) return head;
      const began = performance.now();
      const events = messages.map(rawFrom);
      checkGaps(stream, { policy, after: head.position, lost }, events);
      const links = chained(stream, events, head.hash);
      if (!(await stores.store.extend(head, links))) throw new Deposed(`another process archives ${stream}`);
      const last = links.at(-1);
      if (last) head = { ...head, position: last.sequence, hash: last.hash };
      onArchived(head);
      const isFarBehind = (messages.at(-1)?.behind ?? 0) > atOnce;
      if (isFarBehind) await rest((performance.now() - began) * restPerWork, signal);
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

/** The event at the archive's end must be the one that the stream has there, or the stream has another history. */
async function checkJoint(stores: BothStores, head: ArchiveHead): Promise<void> {
  if (head.position === 0) return;
  const { store, stream } = { ...stores, ...head };
  const [link] = await store.read(stream, head.position - 1, 1);
  for await (const [event] of readRaw(stores, stream, { after: head.position - 1, upTo: head.position })) {
    const isJoint = event && link && isSame(hashOf(stream, event, link.previous), head.hash);
    if (!isJoint) throw new StreamBroken(`${stream} holds another event at ${head.position} than the archive`);
    return;
  }
  if (!forgets(stores.policies[stream])) throw new StreamBroken(`${stream} has no event at ${head.position}`);
}

type Before = Readonly<{ policy: StreamPolicy; after: number; lost: readonly Range[] }>;

/** In a stream that keeps everything, only what is known to be lost may be missing. */
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

function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
