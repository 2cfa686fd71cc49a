import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { JetStreamApiError, type StreamInfo, type StreamUpdateConfig } from '@nats-io/jetstream';
import { syncFolder } from '../../kit/durable.ts';
import { AppError } from '../../kit/errors.ts';
import type { StreamName } from '../../events/streams.ts';
import { Pipeline } from '../log/append/pipeline.ts';
import { incarnationKey, incarnationOf, type StreamShape, shapeOf, streamName } from '../log/streams.ts';
import { messageAt } from '../log/direct.ts';
import { eventMediaType } from '../log/envelope.ts';
import {
  chained,
  managerOf,
  provesItself,
  type RawEvent,
  type RawLog,
  readRaw,
  storedHeader,
  streamInfo,
} from './chain.ts';
import { dropsOf } from './retention.ts';
import { heldMark, type SequenceRange, restoringKey } from './states.ts';
import type { ArchiveHead, ArchiveStore } from './store.ts';

type Stores = RawLog & Readonly<{ store: ArchiveStore }>;

/** Options of a restoration. */
type Restoration = Readonly<{
  stream: StreamName;
  /** The archive's end. */
  position: number;
  /**
   * The incarnation that it continues; undefined where readers have followed other events, so that it needs a new one.
   */
  incarnation: string | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}>;

/** The end of a restored stream, and its incarnation. */
type Restored = Readonly<{ lastSequence: number; incarnation: string }>;

const chunk = 1000;
/** Of what fills a sequence that stays empty, until it is removed: `evt.` subjects never clash with it. */
const emptySubject = 'lost';

/**
 * Makes a stream anew from the archive, each event at its sequence with the time it was first stored.
 *
 * While it is filled it listens on a subject of its own and carries a mark, so that no writer takes it for the log; a
 * restoration that was cut off starts again. Sequences that neither store has any more stay empty. The stream's earlier
 * contents are deleted: read them first.
 */
export async function restoreStream(stores: Stores, restoration: Restoration): Promise<Restored> {
  const { nc, network, policies, store } = stores;
  const { stream, position, incarnation } = restoration;
  const manager = await managerOf(nc);
  const name = streamName(stream, network);
  const before = await streamInfo(stores, stream);
  const first = await firstStored(stores, stream);
  const shape = { ...shapeOf(stream, network, policies[stream]), ...choiceIn(before), first_seq: first };
  await createEmpty(stores, stream, shape);
  const lost = await store.gaps(stream);
  const isLost = (sequence: number): boolean => lost.some((one) => one.first <= sequence && sequence <= one.last);
  const filler = fill(stores, stream, first);
  try {
    for (let after = first - 1; after < position;) {
      const page = await store.read(stream, after, chunk);
      const links = page.links.filter(({ sequence }) => sequence <= position);
      await filler.add(links.filter((link) => !isLost(link.sequence)));
      restoration.onProgress?.(Math.min(filler.last(), position), position);
      after = links.at(-1)?.sequence ?? position;
    }
    await filler.emptyUpTo(position);
  } finally {
    filler.close();
  }
  await manager.streams.purge(name, { filter: emptySubject });
  const done = await manager.streams.update(name, {
    ...shape,
    // The client fills what is left out from the stream as it is.
    subject_transform: undefined as StreamUpdateConfig['subject_transform'],
    metadata: incarnation === undefined ? {} : { [incarnationKey]: incarnation },
  } as Partial<StreamUpdateConfig>);
  return { lastSequence: done.state.last_seq, incarnation: incarnationOf(done) };
}

/** The first sequence of the archive that the stream's policy would not drop. */
async function firstStored({ store, policies }: Stores, stream: StreamName): Promise<number> {
  const drops = await dropsOf(store, stream, { policy: policies[stream], now: Date.now() });
  let next = 1;
  for (;;) {
    const { links } = await store.read(stream, next - 1, chunk);
    const retained = links.find((link) => !drops.isDropped(link));
    if (retained) return retained.sequence;
    const last = links.at(-1);
    if (!last) return next;
    next = last.sequence + 1;
  }
}

/**
 * From now on a stream accepts no event, so that nothing is written to it between reading its contents and making it
 * anew; returns its information, undefined where it holds nothing of its own.
 *
 * A writer that waits for an acknowledgement meanwhile is refused and tries again. A stream that the broker cannot
 * change any more is left as it is.
 */
export async function holdStream(log: RawLog, stream: StreamName): Promise<StreamInfo | undefined> {
  const info = await streamInfo(log, stream);
  const mark = info?.config.metadata?.[restoringKey];
  if (!info || (mark !== undefined && mark !== heldMark)) return undefined;
  const { config } = info;
  const manager = await managerOf(log.nc);
  const held = { ...config.metadata, [restoringKey]: heldMark };
  try {
    await manager.streams.update(config.name, { ...config, subjects: [`restore.${config.name}.>`], metadata: held });
  } catch (caught) {
    if (!(caught instanceof JetStreamApiError)) throw caught;
  }
  return await streamInfo(log, stream);
}

/** Archives the events that a held stream has beyond the archive's end; returns the new end. */
export async function archiveBeyond(stores: Stores, head: ArchiveHead, beyond: SequenceRange): Promise<ArchiveHead> {
  const { stream } = head;
  let end = head;
  for await (const events of allWithin(stores, stream, beyond)) {
    const links = chained(stream, events, end.hash);
    if (!(await stores.store.extend(end, links)))
      throw new AppError('CONFLICT', `Somebody else writes the archive of ${stream}`);
    const last = links.at(-1);
    if (last) end = { ...end, position: last.sequence, hash: last.hash };
  }
  return end;
}

/** Writes events of a held stream to a new file, one a line, durably; undefined where there are none. */
export async function saveForeign(
  stores: Stores & Readonly<{ folder: string }>,
  stream: StreamName,
  ranges: readonly SequenceRange[],
): Promise<Readonly<{ file: string; events: number }> | undefined> {
  const filled = ranges.filter(({ first, last }) => first <= last);
  if (filled.length === 0) return undefined;
  const folder = path.join(stores.folder, 'foreign-events');
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, `${stream}-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.jsonl`);
  const handle = await open(file, 'wx', 0o600);
  let written = 0;
  try {
    for (const range of filled) {
      for await (const events of allWithin(stores, stream, range)) {
        await handle.appendFile(events.map(lineOf).join(''));
        written += events.length;
      }
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  await syncFolder(folder);
  return { file, events: written };
}

/** The stored event with its sequence in the stream; as bytes where it is not the text of an event. */
function lineOf({ sequence, subject, id, storedNanos, body }: RawEvent): string {
  const location = JSON.stringify({ sequence, subject, id, storedNanos });
  const content = provesItself({ subject, body })
    ? `"event":${Buffer.from(body).toString()}`
    : `"bytes":"${Buffer.from(body).toString('base64')}"`;
  return `${location.slice(0, -1)},${content}}\n`;
}

/** All events of a range of a stream; fails where the broker has more of it than it hands over in time. */
async function* allWithin(
  stores: Stores,
  stream: StreamName,
  { first, last }: SequenceRange,
): AsyncGenerator<readonly RawEvent[], void, undefined> {
  let at = first - 1;
  for await (const events of readRaw(stores, stream, { after: at, upTo: last })) {
    yield events;
    at = events.at(-1)?.sequence ?? at;
  }
  if (at < last && (await messageAt(stores.nc, streamName(stream, stores.network), last)) !== undefined)
    throw new AppError('UNAVAILABLE', `The broker did not hand over all of ${stream} in time; it is tried again`);
}

/** The operator's settings of the stream, which a restoration keeps. */
function choiceIn(before: StreamInfo | undefined): Partial<StreamShape> {
  if (!before) return {};
  const { num_replicas, max_bytes } = before.config;
  return { num_replicas, max_bytes };
}

/** A stream whose files were damaged may leave some behind, which a new one of the same name would adopt. */
async function createEmpty(log: RawLog, stream: StreamName, shape: StreamShape): Promise<void> {
  const manager = await managerOf(log.nc);
  const marked = {
    ...shape,
    subjects: [`restore.${shape.name}.>`],
    subject_transform: { src: `restore.${shape.name}.>`, dest: '>' },
    deny_delete: false,
    deny_purge: false,
    metadata: { [restoringKey]: 'true' },
  };
  delete marked.republish;
  for (let attempt = 0; attempt < 3; attempt++) {
    if (await streamInfo(log, stream)) await manager.streams.delete(shape.name);
    const { state } = await manager.streams.add(marked);
    if (state.messages === 0 && state.last_seq === (shape.first_seq ?? 1) - 1) return;
  }
  throw new AppError(
    'UNAVAILABLE',
    `The broker makes ${shape.name} anew with remains of the old one; remove its folder`,
  );
}

function fill({ nc, network }: Pick<RawLog, 'nc' | 'network'>, stream: StreamName, first: number) {
  const pipeline = new Pipeline(nc, { timeoutMs: 30_000 });
  const prefix = `restore.${streamName(stream, network)}.`;
  let last = first - 1;
  const put = async (subject: string, event?: RawEvent): Promise<void> => {
    const expected = (last += 1);
    const message = {
      subject: `${prefix}${subject}`,
      bytes: event?.body ?? new Uint8Array(),
      headers: headersOf(expected, event),
    };
    const reply = await pipeline.send([message]);
    if (reply.kind === 'stored' && reply.sequence === expected) return;
    const why = reply.kind === 'refused' ? reply.description : reply.kind;
    throw new AppError('UNAVAILABLE', `The broker did not take event ${expected} of ${stream} back: ${why}`);
  };
  /** A bounded number at once: between two events of an entity that rarely changes there may be millions. */
  const emptyUpTo = async (sequence: number): Promise<void> => {
    while (last < sequence)
      await Promise.all(Array.from({ length: Math.min(chunk, sequence - last) }, () => put(emptySubject)));
  };
  return {
    last: () => last,
    close: () => pipeline.close(),
    emptyUpTo,
    /** Each event at its own sequence. */
    add: async (events: readonly RawEvent[]): Promise<void> => {
      const sent: Promise<void>[] = [];
      for (const event of events) {
        if (last + 1 < event.sequence) await Promise.all(sent.splice(0));
        await emptyUpTo(event.sequence - 1);
        sent.push(put(event.subject, event));
      }
      await Promise.all(sent);
    },
  };
}

/** As they go over the wire. */
function headersOf(sequence: number, event: RawEvent | undefined): string {
  const expected = `Nats-Expected-Last-Sequence: ${sequence - 1}\r\n`;
  return event ? `${eventMediaType}${expected}${storedHeader}: ${event.storedNanos}\r\n` : expected;
}
