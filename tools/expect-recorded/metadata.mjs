/** Reads top-level fields of protobuf bytes given in base64, by hand. */
export function metadataFields(base64) {
  const bytes = Buffer.from(base64, 'base64');
  const fields = new Map();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) throw new Error('The metadata ends within a number');
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(value);
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire !== 0 && wire !== 2) throw new Error(`The metadata has a field of wire type ${wire}`);
    const value = wire === 0 ? varint() : take(varint());
    if (!fields.has(tag >>> 3)) fields.set(tag >>> 3, value);
  }
  return { text: (number) => fields.get(number)?.toString('utf8'), flag: (number) => fields.get(number) === 1 };

  function take(length) {
    at += length;
    if (at > bytes.length) throw new Error('The metadata ends within a field');
    return bytes.subarray(at - length, at);
  }
}
