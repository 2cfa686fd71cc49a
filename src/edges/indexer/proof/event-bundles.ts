import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { EventPages, StoredEvent } from '../../../engine/archive/event-pages.ts';
import { hashBytes } from '../../../engine/archive/proof/merkle.ts';
import type { ProvenLogs } from '../../../engine/archive/proof/serving.ts';
import { parseTilePath, tileWidth } from '../../../engine/archive/proof/tiles.ts';
import { forgets, type StreamName, streamTable } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';

type Sources = Readonly<{ logs: ProvenLogs; after: EventPages }>;

const lineEnd = Buffer.from('\n');
const mostPageBytes = 1024 * 1024;
const lengthBytes = 2;

/** The index of a bundle of events by its path below `tile/`, such as `events/x001/234`; undefined for another path. */
export function bundleIndex(path: string): number | undefined {
  const digits = /^events\/(.*)$/.exec(path)?.[1];
  const tile = digits === undefined ? undefined : parseTilePath(`tile/entries/${digits}`);
  return tile?.width === tileWidth ? tile.index : undefined;
}

/**
 * The lines of the 256 events of a full bundle, each the bytes whose hash is the entry of the signed tree; the same for
 * ever, so that any cache may have them. Compressed where the reader takes gzip.
 *
 * Fails with `NOT_FOUND` where the stream forgets events or its tree has no such bundle, with `GONE` where events are
 * lost. Bytes that are found wrong only after the first page break the answer off.
 */
export async function openBundle(
  sources: Sources,
  stream: StreamName,
  { index, gzip }: Readonly<{ index: number; gzip: boolean }>,
): Promise<Readable> {
  if (forgets(streamTable[stream]))
    throw new AppError('NOT_FOUND', `${stream} does not keep its events for ever, so it has no bundles of them.`);
  const entries = await sources.logs.tile(stream, { level: 'entries', index, width: tileWidth });
  if (!entries) throw new AppError('NOT_FOUND', 'The tree of this log has no such bundle yet.');
  if (entries.length !== tileWidth * (lengthBytes + hashBytes)) throw gone();
  const lines = linesOf(sources.after, { stream, index, entries });
  const first = await lines.next();
  const all = Readable.from(joined(first.value ?? Buffer.alloc(0), lines), { objectMode: false });
  if (!gzip) return all;
  const zip = createGzip();
  return all.on('error', (error) => zip.destroy(error)).pipe(zip);
}

async function* joined(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}

type Bundle = Readonly<{ stream: StreamName; index: number; entries: Uint8Array }>;

async function* linesOf(after: EventPages, { stream, index, entries }: Bundle): AsyncGenerator<Buffer, void> {
  const end = (index + 1) * tileWidth;
  for (let at = index * tileWidth; at < end;) {
    const events = await after(stream, at, { most: end - at, mostBytes: mostPageBytes });
    if (events.length === 0) throw gone();
    for (const event of events) {
      at += 1;
      if (event.sequence !== at || !isEntry(event, entries.subarray(...rangeOf(at - 1 - index * tileWidth))))
        throw gone();
    }
    yield Buffer.concat(events.flatMap(({ bytes }) => [bytes, lineEnd]));
  }
}

const rangeOf = (place: number): [number, number] => {
  const start = place * (lengthBytes + hashBytes) + lengthBytes;
  return [start, start + hashBytes];
};

function isEntry({ bytes }: StoredEvent, entry: Uint8Array): boolean {
  return Buffer.compare(createHash('sha256').update(bytes).digest(), entry) === 0;
}

function gone(): AppError {
  return new AppError('GONE', 'Events of this bundle are in neither store; its entries still show their hashes.');
}
