/** Bytes of a page of PostgreSQL. */
export const pageBytes = 8192;

const lanes = 32;
const rounds = pageBytes / 4 / lanes;
const prime = 16_777_619;
const checksumWord = 2;
const upperOffset = 14;

/** Where each lane begins, as PostgreSQL has it (`checksum_impl.h`). */
const offsets = Uint32Array.of(
  0x5b1f36e9,
  0xb8525960,
  0x02ab50aa,
  0x1de66d2a,
  0x79ff467a,
  0x9bb9f8a3,
  0x217e7cd2,
  0x83e13d2c,
  0xf8d4474f,
  0xe39eb970,
  0x42c6ae16,
  0x993216fa,
  0x7b093b5d,
  0x98daff3c,
  0xf718902a,
  0x0b1c9cdb,
  0xe58f764b,
  0x187636bc,
  0x5d7b3bb1,
  0xe73de7de,
  0x92bec979,
  0xcca6c0b2,
  0x304a0979,
  0x85aa43d4,
  0x783125bb,
  0x6ca8eaa2,
  0xe407eac6,
  0x4b5cfc3e,
  0x9fbf8c76,
  0x15ca20be,
  0xf2ca9fd3,
  0x959bd756,
);

/**
 * Whether a page of a PostgreSQL data file carries the checksum of its content; `block` is its place in the whole relation.
 *
 * A page that was never written is zero throughout. The page begins at a multiple of four bytes of its memory; the machine is little-endian.
 */
export function isSoundPage(page: Buffer, block: number): boolean {
  if (page.readUInt16LE(upperOffset) === 0) return page.every((byte) => byte === 0);
  return page.readUInt16LE(4 * checksumWord) === checksumOf(page, block);
}

function checksumOf(page: Buffer, block: number): number {
  const sums = Uint32Array.from(offsets);
  const words = new Uint32Array(page.buffer, page.byteOffset, pageBytes / 4);
  for (let round = 0; round < rounds; round++)
    for (let lane = 0; lane < lanes; lane++) {
      const word = round * lanes + lane;
      const value = words[word] ?? 0;
      sums[lane] = mix(sums[lane] ?? 0, word === checksumWord ? value & 0xffff0000 : value);
    }
  for (let lane = 0; lane < lanes; lane++) sums[lane] = mix(mix(sums[lane] ?? 0, 0), 0);
  const sum = sums.reduce((all, one) => all ^ one, 0) ^ block;
  return ((sum >>> 0) % 65_535) + 1;
}

/** One step of FNV-1a with the high bits folded in. */
function mix(sum: number, value: number): number {
  const mixed = sum ^ value;
  return Math.imul(mixed, prime) ^ (mixed >>> 17);
}
