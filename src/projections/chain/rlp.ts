/** One item of RLP: where it starts, where its content starts, where it ends; `isList` is read from its first byte. */
type Item = Readonly<{ from: number; content: number; end: number; isList: boolean }>;

const timestampAt = 11;

/** The two parts of a block in RLP: its header, and the items behind it; and the header's timestamp in seconds. */
export type BlockParts = Readonly<{ header: Uint8Array; body: Uint8Array; timestamp: number }>;

/** Parts of a block (RLP). Fails where the bytes are no block. */
export function partsOf(block: Uint8Array): BlockParts {
  const outer = itemAt(block, 0);
  if (!outer.isList) throw new Error('A block is a list');
  const header = itemAt(block, outer.content);
  let field = itemAt(block, header.content);
  for (let at = 0; at < timestampAt; at += 1) field = itemAt(block, field.end);
  if (!header.isList || field.isList || field.end > header.end) throw new Error('A header is a list with a timestamp');
  return {
    header: block.subarray(header.from, header.end),
    body: block.subarray(header.end, outer.end),
    timestamp: numberIn(block, field.content, field.end),
  };
}

/** The block (RLP) of its parts. */
export function blockOf({ header, body }: Pick<BlockParts, 'header' | 'body'>): Uint8Array {
  const length = header.length + body.length;
  if (length <= 55) return Buffer.concat([Buffer.of(0xc0 + length), header, body]);
  const digits = length.toString(16);
  const size = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(0xf7 + size.length), size, header, body]);
}

function itemAt(bytes: Uint8Array, from: number): Item {
  const first = bytes[from];
  if (first === undefined) throw new Error('A block ends within an item');
  if (first < 0x80) return { from, content: from, end: from + 1, isList: false };
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  const lengthBytes = Math.max(0, short - 55);
  const content = from + 1 + lengthBytes;
  const length = lengthBytes === 0 ? short : numberIn(bytes, from + 1, content);
  if (content + length > bytes.length) throw new Error('A block ends within an item');
  return { from, content, end: content + length, isList };
}

function numberIn(bytes: Uint8Array, from: number, end: number): number {
  return bytes.subarray(from, end).reduce((sum, byte) => sum * 256 + byte, 0);
}
