import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BrokenRecord, createOpener, createSealer } from '../../../../src/edges/rpc/channel/records.ts';
import { sessionKeys } from '../../../../src/edges/rpc/channel/session-keys.ts';
import recorded from '../../../fixtures/node-status/secure-channel.json' with { type: 'json' };

const { vectors } = recorded;
const header = 8;
const keys = sessionKeys(Buffer.from(vectors.shared_secret, 'hex'), vectors);

describe('keys of a session', () => {
  it('are those that a real node makes of the same secret and addresses', () => {
    expect(Buffer.concat([keys.key, keys.mask]).toString('hex')).toBe(vectors.expanded);
  });
});

describe('records', () => {
  it.each(['client', 'server'] as const)('of the %s are those of a real node, up to number 69,999', (from) => {
    const seal = createSealer(keys, from);
    const expected = new Map(vectors.records.flatMap((one) => (one.from === from ? [[one.number, one.sealed]] : [])));
    const sealed = new Map<number, string>();
    for (let number = 0; number <= 69_999; number++) {
      const bytes = seal(Buffer.from(`record ${number} from the ${from}`));
      if (expected.has(number)) sealed.set(number, bytes.subarray(header).toString('hex'));
    }
    expect(sealed).toEqual(expected);
  });

  it('open whole, however their bytes come', () => {
    const seal = createSealer(keys, 'client');
    const plain = [1, 16_383, 16_384, 16_385, 100_000].map((size) => randomBytes(size));
    const wire = Buffer.concat(plain.map((part) => Buffer.from(seal(part))));
    for (const step of [1, 7, 4096, wire.length]) {
      const open = createOpener(keys, 'client');
      const opened: Buffer[] = [];
      for (let at = 0; at < wire.length; at += step) opened.push(...open(wire.subarray(at, at + step)));
      expect(Buffer.concat(opened).equals(Buffer.concat(plain))).toBe(true);
    }
  });

  it('do not open when a bit is changed, when one is missing or comes again, or comes from the other side', () => {
    const seal = createSealer(keys, 'client');
    const [first, second] = ['one', 'two'].map((text) => Buffer.from(seal(Buffer.from(text)))) as [Buffer, Buffer];
    const changed = Buffer.from(first);
    changed[header] = (changed[header] ?? 0) ^ 1;
    expect(() => createOpener(keys, 'client')(changed)).toThrow(BrokenRecord);
    expect(() => createOpener(keys, 'client')(second)).toThrow(BrokenRecord);
    expect(() => createOpener(keys, 'client')(Buffer.concat([first, first]))).toThrow(BrokenRecord);
    expect(() => createOpener(keys, 'server')(first)).toThrow(BrokenRecord);
  });

  it('of a length or type that cannot be are refused before they have come', () => {
    for (const [length, type] of [
      [19, 6],
      [2 ** 20 + 1, 6],
      [2 ** 32 - 1, 6],
      [100, 7],
    ] as const) {
      const start = Buffer.alloc(header);
      start.writeUInt32LE(length);
      start.writeUInt32LE(type, 4);
      expect(() => createOpener(keys, 'client')(start)).toThrow(BrokenRecord);
    }
  });
});
