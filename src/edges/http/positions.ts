import { base64urlnopad } from '@scure/base';
import { AppError } from '../../kit/errors.ts';
import { type StreamName, streams, streamTable } from '../../events/streams.ts';
import { parseInstant } from './instant.ts';
import { shown } from './parameters.ts';

/** A position of one stream: its incarnation, and the sequence of the last event up to there. */
export type Position = Readonly<{ incarnation: string; sequence: number }>;

/** The positions of a token by their streams. */
export type Positions = ReadonlyMap<StreamName, Position>;

/** Longer than the token of all streams. */
const longestToken = 2048;

/**
 * The positions of a token as `Annals-Position` has it; undefined for everything else. Whether the incarnations are
 * those of the log is the caller's to check.
 *
 * @example parsePositions('eyJTWU5DIjpbIjIwMjYtMDEtMzFUMTI6MDA6MDBaIiw3XX0')?.get('SYNC')?.sequence // 7
 */
export function parsePositions(token: string): Positions | undefined {
  const value = token.length > longestToken ? undefined : jsonIn(token);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const all = Object.entries(value).map(([name, position]) => positionFrom(name, position));
  const known = all.filter((one) => one !== undefined);
  return known.length === 0 || known.length < all.length ? undefined : new Map(known);
}

function jsonIn(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64urlnopad.decode(token)).toString());
  } catch {
    return undefined;
  }
}

function positionFrom(name: string, value: unknown): [StreamName, Position] | undefined {
  const stream = publicStream(name);
  if (!stream || !Array.isArray(value)) return undefined;
  const [incarnation, sequence]: unknown[] = value;
  if (typeof incarnation !== 'string' || !isSequence(sequence)) return undefined;
  return [stream, { incarnation, sequence }];
}

/** A stream by its name, where its positions say nothing about private files. */
const publicStream = (name: string): StreamName | undefined =>
  streams.find((stream) => stream === name && streamTable[stream].proven === 'public');

const isSequence = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** An instant as a caller names it: the positions of a token, one place of one stream, or nanoseconds since 1970. */
export type NamedInstant = Readonly<
  { positions: Positions } | { place: Readonly<{ stream: StreamName; sequence: number }> } | { nanos: bigint }
>;

/**
 * Reads an instant: an RFC 3339 time, `STREAM:sequence`, or a token as `Annals-Position` has it; fails with
 * `INVALID_INSTANT`.
 *
 * @example parseNamedInstant('as_of', 'ACTIONS:42') // { place: { stream: 'ACTIONS', sequence: 42 } }
 */
export function parseNamedInstant(name: string, text: string): NamedInstant {
  const nanos = nanosOf(text);
  if (nanos !== undefined) return { nanos };
  const [, streamName = '', digits = ''] = /^([A-Z]+):(\d{1,16})$/.exec(text) ?? [];
  const stream = publicStream(streamName);
  if (stream && isSequence(Number(digits))) return { place: { stream, sequence: Number(digits) } };
  const positions = parsePositions(text);
  if (positions) return { positions };
  throw new AppError(
    'INVALID_INSTANT',
    `${name} is ${shown(text)}; it takes a token of Annals-Position, an RFC 3339 time such as 2026-01-31T12:00:00Z (a + in the offset is written %2B), or a place of a public stream such as ACTIONS:42.`,
  );
}

/** Digits of a fraction of a second that count. */
const nanoDigits = 9;

/** An RFC 3339 time as nanoseconds since 1970; further digits are cut off. */
export function nanosOf(text: string): bigint | undefined {
  const instant = parseInstant(text);
  if (!instant) return undefined;
  const [, fraction = ''] = /\.(\d+)/.exec(text) ?? [];
  return BigInt(instant.seconds) * 1_000_000_000n + BigInt(fraction.slice(0, nanoDigits).padEnd(nanoDigits, '0'));
}
