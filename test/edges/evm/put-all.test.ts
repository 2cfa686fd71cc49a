import { MerklePatriciaTrie } from '@ethereumjs/mpt';
import { RLP } from '@ethereumjs/rlp';
import { MapDB, ValueEncoding } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { expect, it } from 'vitest';
import { type Change, putAll, rootOf } from '../../../src/kit/shims/ethereumjs/put-all.ts';
import { seeded } from '../../support/histories/random-history.ts';

/** Hashes to few prefixes, so that paths share many nibbles and extensions are split. */
const crowded = (bytes: Uint8Array): Uint8Array => {
  const hash = keccak_256(bytes);
  if (bytes.length > 2) return hash;
  return Uint8Array.from(hash, (byte, at) =>
    at < 31 ? ([0x11, 0x12, 0x21][byte % (at % 4 === 0 ? 3 : 1)] ?? 0) : byte,
  );
};

it.each([
  { of: 'spread', hash: keccak_256, seed: 1 },
  { of: 'spread', hash: keccak_256, seed: 2 },
  { of: 'crowded', hash: crowded, seed: 3 },
  { of: 'crowded', hash: crowded, seed: 4 },
])(
  'putAll leads to the root of single writes, and stores all that it refers to: $of keys, seed $seed',
  async (given) => {
    const { hash, seed } = given;
    const random = seeded(seed);
    const options = { useKeyHashing: true, useKeyHashingFunction: hash, valueEncoding: ValueEncoding.Bytes } as const;
    const db = new MapDB<string, string>();
    const [ours, plain] = [db, new MapDB<string, string>()].map(
      (one) => new MerklePatriciaTrie({ ...options, db: one }),
    );
    if (!ours || !plain) throw new Error('There are two tries');
    for (let round = 0; round < 120; round += 1) {
      const most = random.pick([1, 3, 40]);
      const changes = new Map<number, Change>();
      const deletes = random.pick([0.1, 0.5, 0.95]);
      for (let left = most; left > 0; left -= 1) {
        const name = random.below(random.pick([12, 90]));
        const value = random.chance(deletes) ? null : new Uint8Array(random.pick([1, 33])).fill(1 + random.below(3));
        changes.set(name, { key: Uint8Array.of(name, 7), value });
      }
      await putAll(ours, [...changes.values()], hash);
      for (const { key, value } of changes.values()) await (value === null ? plain.del(key) : plain.put(key, value));
      expect(ours.root()).toEqual(plain.root());
      const anew = new MerklePatriciaTrie({ ...options, db, root: ours.root() });
      for (const { key, value } of changes.values()) expect(await anew.get(key, true)).toEqual(value);
    }
  },
);

it('rootOf is the root of single writes, whatever the number of values', async () => {
  const random = seeded(5);
  for (const count of [0, 1, 2, 16, 17, 127, 128, 129, 300]) {
    const plain = new MerklePatriciaTrie({ useKeyHashingFunction: keccak_256 });
    const values = Array.from({ length: count }, (_, index) => {
      return { key: RLP.encode(index), value: new Uint8Array(random.pick([1, 20, 33, 400])).fill(1 + random.below(3)) };
    });
    for (const { key, value } of values) await plain.put(key, value);
    expect([count, rootOf(values, keccak_256)]).toEqual([count, plain.root()]);
  }
});

it('a value that is there already writes nothing', async () => {
  const db = new MapDB<string, string>();
  const trie = new MerklePatriciaTrie({ db, useKeyHashing: true, valueEncoding: ValueEncoding.Bytes });
  const changes = [1, 2, 3, 4].map((name): Change => ({ key: Uint8Array.of(name), value: Uint8Array.of(name, 9) }));
  await putAll(trie, changes, keccak_256);
  const root = trie.root();
  const put = db.batch.bind(db);
  let writes = 0;
  db.batch = async (operations) => {
    writes += operations.length;
    await put(operations);
  };
  await putAll(trie, [...changes, { key: Uint8Array.of(5), value: null }], keccak_256);
  expect([trie.root(), writes]).toEqual([root, 0]);
});
