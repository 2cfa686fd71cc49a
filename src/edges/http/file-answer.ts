import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../kit/errors.ts';
import { piecesOf } from '../../kit/file-pieces.ts';
import { type ByteRange, rangesOf } from './byte-ranges.ts';

/** A file that never changes: what it is called, and a strong entity tag of its content. */
export type FileAnswer = Readonly<{
  handle: FileHandle;
  size: number;
  /** In its quotes. */
  etag: string;
  name: string;
}>;

const type = 'application/octet-stream';
/** More than a socket buffers before it signals backpressure, so that each piece is sent before the next is. */
const pieceBytes = 256 * 1024;
/** One at the socket, one that waits in the stream, one that is being read. */
const piecesInFlight = 4;

/**
 * Answers with a file or its requested ranges, as a download; closes the handle in the end.
 *
 * Supports `If-None-Match` and strong `If-Match` and `If-Range` (RFC 9110). Fails with `PRECONDITION_FAILED` where it
 * is another file, with `RANGE_NOT_SATISFIABLE` where there is no such byte.
 */
export async function answerFile(request: FastifyRequest, reply: FastifyReply, file: FileAnswer): Promise<unknown> {
  const { handle, size, etag, name } = file;
  const { headers, method } = request;
  const close = (): void => void handle.close().catch(() => undefined);
  // The caller may have hung up while the answer was prepared: its event has passed.
  if (reply.raw.destroyed) {
    close();
    return reply.hijack();
  }
  reply.raw.once('close', close);
  reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-transform' });
  if (headers['if-match'] !== undefined && !strongly(headers['if-match'], etag))
    throw new AppError('PRECONDITION_FAILED', `The file is another one: its entity tag is ${etag}`);
  if (matches(headers['if-none-match'], etag)) return await reply.code(304).send();
  reply.header('content-disposition', attachment(name));
  const isCurrent = headers['if-range'] === undefined || headers['if-range'] === etag;
  const ranges = method === 'GET' && isCurrent ? rangesOf(headers.range, size) : 'whole';
  if (ranges === 'unsatisfiable') {
    reply.removeHeader('content-disposition').header('content-range', `bytes */${size}`);
    throw new AppError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes; there are none at the range asked for`);
  }
  if (ranges === 'whole') {
    const body =
      method === 'HEAD' || size === 0 ? Readable.from([]) : streamOf(bytesOf(handle, { first: 0, last: size - 1 }));
    return await reply.headers({ 'content-type': type, 'content-length': String(size) }).send(body);
  }
  reply.code(206);
  const [first] = ranges;
  if (first !== undefined && ranges.length === 1) {
    const length = String(first.last - first.first + 1);
    reply.headers({ 'content-type': type, 'content-range': rangeText(first, size), 'content-length': length });
    return await reply.send(streamOf(bytesOf(handle, first)));
  }
  return await sendParts(reply, file, ranges);
}

async function sendParts(
  reply: FastifyReply,
  { handle, size }: FileAnswer,
  ranges: readonly ByteRange[],
): Promise<unknown> {
  const boundary = randomBytes(16).toString('hex');
  const headOf = (range: ByteRange): string =>
    `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${rangeText(range, size)}\r\n\r\n`;
  const end = `\r\n--${boundary}--\r\n`;
  const length = ranges.reduce((sum, range) => sum + headOf(range).length + range.last - range.first + 1, end.length);
  reply.headers({ 'content-type': `multipart/byteranges; boundary=${boundary}`, 'content-length': String(length) });
  return await reply.send(
    streamOf(
      (async function* () {
        for (const range of ranges) {
          yield Buffer.from(headOf(range));
          yield* bytesOf(handle, range);
        }
        yield Buffer.from(end);
      })(),
    ),
  );
}

function bytesOf(handle: FileHandle, range: ByteRange): AsyncIterable<Buffer> {
  return piecesOf(handle, { ...range, pieceBytes, held: piecesInFlight });
}

/** A stream that holds one piece, and pulls the next when that is consumed. */
function streamOf(pieces: AsyncIterable<Buffer>): Readable {
  return Readable.from(pieces, { objectMode: false, highWaterMark: 1 });
}

function rangeText({ first, last }: ByteRange, size: number): string {
  return `bytes ${first}-${last}/${size}`;
}

/** Returns whether a list of entity tags has one, weak ones included. */
function matches(list: string | undefined, etag: string): boolean {
  if (list === undefined) return false;
  if (list.trim() === '*') return true;
  return [...list.matchAll(/(?:W\/)?("[^"]*")/g)].some(([, tag]) => tag === etag);
}

/** The same without weak ones. */
function strongly(list: string, etag: string): boolean {
  return matches(list.replaceAll(/W\/"[^"]*"/g, ''), etag);
}

/** `Content-Disposition` of a download, for readers that know RFC 8187 and for those that do not. */
function attachment(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
