import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Stream } from '@libp2p/interface';
import { AppError } from '../../../kit/errors.ts';

/** A piece with its framing, or a manifest of the largest file. */
const usualBytes = 2 ** 20 + 4096;
const prefixBytes = 4;

/** A field of bytes, by its number. */
export type LastField = Readonly<{ number: number; bytes: Uint8Array }>;

/**
 * Sends one message: four bytes of its length, big-endian, then the message, and as its last field the bytes of a long
 * one, which are never copied.
 */
export async function sendFrame(
  stream: Stream,
  message: Uint8Array,
  signal: AbortSignal,
  long?: LastField,
): Promise<void> {
  const bytes = long?.bytes ?? new Uint8Array();
  const tag = long && new BinaryWriter().tag(long.number, WireType.LengthDelimited).uint32(bytes.length).finish();
  const head = Buffer.concat([Buffer.alloc(prefixBytes), message, ...(tag ? [tag] : [])]);
  head.writeUInt32BE(head.length - prefixBytes + bytes.length);
  let flows = stream.send(head);
  if (bytes.length > 0) flows = stream.send(bytes);
  if (!flows) await stream.onDrain({ signal });
}

/** Reads one message; fails with `UNAVAILABLE` where the stream ends before it, or it is too long. */
export async function readFrame(stream: Stream, mostBytes = usualBytes): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  let wanted: number | undefined;
  for await (const part of stream) {
    parts.push(part.subarray());
    length += part.byteLength;
    if (wanted === undefined && length >= prefixBytes) {
      wanted = Buffer.concat(parts).readUInt32BE(0) + prefixBytes;
      if (wanted > mostBytes + prefixBytes) throw new AppError('UNAVAILABLE', 'A peer sends more than it may');
    }
    if (wanted !== undefined && length >= wanted) return Buffer.concat(parts).subarray(prefixBytes, wanted);
  }
  throw new AppError('UNAVAILABLE', 'A peer ended the stream before its message');
}
