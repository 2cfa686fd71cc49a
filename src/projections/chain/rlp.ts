/** One item of RLP: where it starts, where its content starts, where it ends; `isList` is read from its first byte. */
type Item = Readonly<{ from: number; content: number; end: number; isList: boolean }>;

const timestampAt = 11;

/** RLP of the header of a block (RLP), and its timestamp in seconds. Fails where the bytes are no block. */
export function headerOf(block: Uint8Array): Readonly<{ header: Uint8Array; timestamp: number }> {
  const outer = itemAt(block, 0);
  if (!outer.isList) throw new Error('A block is a list');
  const header = itemAt(block, outer.content);
  let field = itemAt(block, header.content);
  for (let at = 0; at < timestampAt; at += 1) field = itemAt(block, field.end);
  if (!header.isList || field.isList || field.end > header.end) throw new Error('A header is a list with a timestamp');
  return { header: block.subarray(header.from, header.end), timestamp: numberIn(block, field.content, field.end) };
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
