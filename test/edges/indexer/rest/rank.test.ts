import { readFileSync } from 'node:fs';
import { bytesToHex } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import { blockHash, createHashCache, type RankedNode, ranksAt } from '../../../../src/edges/indexer/rest/rank.ts';

type Recorded = {
  height: number;
  nodes: { validator_address: string; states: { state: string; height: string }[] }[];
  top: string[];
};

const recorded = (height: number): Recorded =>
  JSON.parse(readFileSync(new URL(`../../../fixtures/top-list/${height}.json`, import.meta.url), 'utf8'));

/** The nodes with the state that each had at a height. */
const asOf = ({ height, nodes }: Recorded): RankedNode[] =>
  nodes.map(({ validator_address, states }) => ({
    operator: validator_address,
    state: (states.findLast((entry) => Number(entry.height) <= height)?.state ?? '')
      .replace('SUPERNODE_STATE_', '')
      .toLowerCase(),
    registeredHeight: Number(states[0]?.height),
  }));

describe('blockHash', () => {
  it('is BLAKE3 of the decimal height', () => {
    expect(bytesToHex(blockHash(7))).toBe('22f36339ae3058eeaf19a52949cfb9eb0a6bf4c21c05b6191ae4a19c8a93de4b');
    expect(bytesToHex(blockHash(100))).toBe('abcfe76e6ab933c067566735afe60950b13af3bf428307ed95ae8ee0d9f912c4');
  });
});

describe('ranksAt', () => {
  it.each([212, 682])("gives the order of the chain's own top list for height %i", (height) => {
    const list = recorded(height);
    expect([...ranksAt(height, asOf(list))]).toEqual(list.top.map((operator, at) => [operator, at + 1]));
  });

  it('leaves out postponed and full nodes, and those registered later', () => {
    const [first, second, third, fourth] = recorded(682).top;
    const node = (operator = '', state = 'active', registeredHeight: number | null = 5): RankedNode => ({
      operator,
      state,
      registeredHeight,
    });
    const nodes = [
      node(first, 'postponed'),
      node(second, 'storage_full'),
      node(third, 'active', 8),
      node(fourth, 'stopped', null),
    ];
    expect(ranksAt(7, nodes)).toEqual(new Map([[fourth, 1]]));
  });

  it('orders hashes that differ late, and equal ones by address, as numbers of all their bytes', () => {
    const block = blockHash(7);
    const hashes = new Map(
      ['first', 'last', 'middle', 'middle too'].map((operator) => [operator, Uint8Array.from(block)] as const),
    );
    const flip = (operator: string, at: number, bits: number) =>
      hashes.get(operator)?.set([(block[at] ?? 0) ^ bits], at);
    flip('middle', 31, 1);
    flip('middle too', 31, 1);
    flip('last', 0, 128);
    const nodes = ['last', 'middle too', 'middle', 'first'].map((operator) => ({
      operator,
      state: 'active',
      registeredHeight: null,
    }));
    const ranks = ranksAt(7, nodes, (operator) => hashes.get(operator));
    expect([...ranks.keys()]).toEqual(['first', 'middle', 'middle too', 'last']);
  });

  it('gives no place to what is no address', () => {
    expect(ranksAt(7, [{ operator: 'junk', state: 'active', registeredHeight: null }])).toEqual(new Map());
  });
});

describe('createHashCache', () => {
  it('gives the same ranks at every height, also once it has let go of nodes', () => {
    const nodes = asOf(recorded(682));
    const { hashOf, letGoOfOthers } = createHashCache();
    for (const [height, ranked] of [
      [682, nodes],
      [683, nodes.slice(1)],
      [684, nodes],
      [685, nodes],
    ] as const) {
      expect(ranksAt(height, ranked, hashOf)).toEqual(ranksAt(height, ranked));
      letGoOfOthers();
    }
    expect(hashOf('junk')).toBeUndefined();
  });
});
