import { RLP } from '@ethereumjs/rlp';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blockOf, partsOf } from '../../../src/projections/chain/rlp.ts';

test('the parts of a block give the block back, whatever its size', () => {
  const bytes = (most: number) => fc.uint8Array({ maxLength: most });
  const header = fc.array(bytes(300), { minLength: 15, maxLength: 21 });
  const transactions = fc.array(bytes(40_000), { maxLength: 4 });
  fc.assert(
    fc.property(header, transactions, fc.nat(0xffffffff), (fields, sent, timestamp) => {
      const time = Buffer.alloc(4);
      time.writeUInt32BE(timestamp);
      const block = RLP.encode([fields.with(11, time), sent, [], []]);
      const parts = partsOf(block);
      expect(parts.timestamp).toBe(timestamp);
      expect(Buffer.from(blockOf(parts)).equals(block)).toBe(true);
    }),
  );
});
