import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import type { UniversalClientFn } from '@connectrpc/connect/protocol';
import { envelopeHeadBytes, headOf, type LongField, type Sending, spliced } from './long-fields.ts';

/** The long fields of a client's one call: what has them is never in memory as one. */
export type ClientFields = Readonly<{
  /** Sends a field with the next message; returns what the message is to hold in its place. */
  send: (field: LongField) => Uint8Array;
  /** Has a field of the answer taken as it comes; its messages arrive without its bytes. */
  take: (field: TakenField) => void;
}>;

/** A field whose bytes go their own way. */
export type TakenField = Readonly<{
  /** The numbers of the fields that lead to it. */
  path: readonly number[];
  /** Messages of more bytes are left to who reads the others, for refusal. */
  mostBytes: number;
  /** Takes the bytes of a field as they come; what comes next waits for it. */
  take: (bytes: Uint8Array) => Promise<void>;
}>;

/** A client for one call, and the long fields of that. */
export function withLongFields(
  client: UniversalClientFn,
): Readonly<{ client: UniversalClientFn; fields: ClientFields }> {
  const sending: Sending = {};
  let taken: TakenField | undefined;
  return {
    client: async (request) => {
      const { body } = request;
      const response = await client(body ? { ...request, body: spliced(body, sending) } : request);
      return taken ? { ...response, body: withoutField(response.body, taken) } : response;
    },
    fields: {
      send: (field) => {
        sending.next = field;
        return new Uint8Array();
      },
      take: (field) => void (taken = field),
    },
  };
}

/** A message of fewer bytes is no burden. */
const leastBytes = 16 * 1024;
/** The head of a message is within so many bytes, however its numbers are written. */
const mostHeadBytes = 64;

/**
 * The envelopes of an answer, where each long message that has nothing but the field arrives without the field's bytes,
 * once these were taken.
 */
async function* withoutField(body: AsyncIterable<Uint8Array>, field: TakenField): AsyncGenerator<Uint8Array> {
  const emptied = headOf({ path: field.path, bytes: 0 });
  let rest: Uint8Array = new Uint8Array();
  let left: Envelope = { head: 0, toTake: 0, toPass: 0 };
  for await (const arrived of body) {
    rest = rest.length > 0 ? Buffer.concat([rest, arrived]) : arrived;
    for (;;) {
      if (left.toTake + left.toPass === 0) left = startOf(rest, field);
      const part = rest.subarray(left.head, left.head + left.toTake + left.toPass);
      rest = rest.subarray(left.head + part.length);
      const { toTake, toPass } = left;
      if (part.length > 0 && toPass > 0) yield part;
      if (part.length > 0 && toTake > 0) await field.take(part);
      if (part.length > 0 && part.length === toTake) yield emptied;
      left = { head: 0, toTake: toTake && toTake - part.length, toPass: toPass && toPass - part.length };
      if (part.length === 0) break;
    }
  }
  // Where it ends within a message, so does what is read of it.
  if (left.toTake > 0) yield emptied.subarray(1);
  else if (rest.length > 0) yield rest;
}

/** What of an envelope is to be taken behind its head, or passed on whole. */
type Envelope = Readonly<{ head: number; toTake: number; toPass: number }>;

/** Nothing of it where more bytes must be there to tell. */
function startOf(bytes: Uint8Array, { path, mostBytes }: TakenField): Envelope {
  const nothing = { head: 0, toTake: 0, toPass: 0 };
  if (bytes.length < envelopeHeadBytes) return nothing;
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  const whole = { ...nothing, toPass: envelopeHeadBytes + size };
  if (bytes[0] !== 0 || size < leastBytes || size > mostBytes) return whole;
  if (bytes.length < mostHeadBytes) return nothing;
  const reader = new BinaryReader(bytes.subarray(envelopeHeadBytes, mostHeadBytes));
  for (const number of path) {
    const [found, type] = reader.tag();
    if (found !== number || type !== WireType.LengthDelimited || reader.uint32() + reader.pos !== size) return whole;
  }
  return { head: envelopeHeadBytes + reader.pos, toTake: size - reader.pos, toPass: 0 };
}
