import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type ContextValues, createContextKey } from '@connectrpc/connect';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { inParts } from './stalled-answers.ts';

/** The bytes of a field that is sent in parts, each read once the one before was accepted. */
export type LongField = Readonly<{
  /** The numbers of the fields that lead to it; it is the only one that is set of each message among them. */
  path: readonly number[];
  bytes: number;
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}>;

/**
 * The long fields of one call's answer: a message that is sent so is never in memory as one.
 *
 * `field` returns what the message is to hold in its place; `check` fails after the message was sent where its parts
 * did.
 */
export type LongFields = Readonly<{
  field: (field: LongField) => Promise<Uint8Array>;
  check: () => void;
}>;

/** The field that the next message has, and why parts of one before could not be had. */
export type Sending = { next?: LongField | undefined; failure?: unknown };

const key = createContextKey<Sending | undefined>(undefined, { description: 'the field that is sent in parts' });
const nothing = new Uint8Array();

/** The long fields of a call; a client that reads JSON receives each at once. */
export function longFieldsOf({
  values,
  requestHeader,
}: Readonly<{ values: ContextValues; requestHeader: Headers }>): LongFields {
  const sending = values.get(key);
  const isBinary = !requestHeader.get('content-type')?.includes('json');
  return {
    field: async (field) => {
      if (!sending || !isBinary) return Buffer.concat(await Array.fromAsync(field.parts));
      sending.next = field;
      return nothing;
    },
    check: () => {
      if (sending?.failure !== undefined) throw sending.failure;
    },
  };
}

/**
 * Prepares a call for long fields; returns the answer in parts, those of each such field after the head of its message.
 */
export function acceptLongFields(
  values: ContextValues | undefined,
): (response: UniversalServerResponse) => UniversalServerResponse {
  const sending: Sending = {};
  values?.set(key, sending);
  return (response) => (response.body ? inParts({ ...response, body: spliced(response.body, sending) }) : response);
}

/** Each element of the body is the envelope of one message; that of a long field is replaced. */
export async function* spliced(body: AsyncIterable<Uint8Array>, sending: Sending): AsyncGenerator<Uint8Array> {
  for await (const envelope of body) {
    const { next } = sending;
    sending.next = undefined;
    if (!next) {
      yield envelope;
      continue;
    }
    yield headOf(next);
    try {
      yield* next.parts;
    } catch (caught) {
      sending.failure = caught;
    }
  }
}

/** Of an envelope, the flags and the length. */
export const envelopeHeadBytes = 5;

/** Everything of an envelope before the bytes of its long field: flags, length, and the head of each message. */
export function headOf({ path, bytes }: Pick<LongField, 'path' | 'bytes'>): Uint8Array {
  let head = new Uint8Array();
  for (const number of path.toReversed()) {
    const outer = new BinaryWriter()
      .tag(number, WireType.LengthDelimited)
      .uint32(head.length + bytes)
      .finish();
    head = Buffer.concat([outer, head]);
  }
  const envelope = Buffer.alloc(envelopeHeadBytes);
  envelope.writeUInt32BE(head.length + bytes, 1);
  return Buffer.concat([envelope, head]);
}
