import { describe, expect, test } from 'vitest';
import { checkpointEach, sealing } from '../../../src/commands/ledger/sealing.ts';
import type { Fact } from '../../../src/events/catalogue.ts';
import { given } from '../../support/histories/given.ts';

const root = `0x${'11'.repeat(32)}`;
const block = (height: number): Fact<'BlockSealed'> => ({
  type: 'BlockSealed',
  data: { chain: 'chain', height, time: '2026-01-01T00:00:00.000Z', transactions: [], endBlockEvents: [] },
});
const seal = (height: number) => ({ kind: 'seal', block: block(height).data, root }) as const;
const chain = { chain: 'chain', chainId: 'a-1', time: '2026-01-01T00:00:00.000Z', genesis: '{}' };
const initialised: Fact<'ChainInitialised'> = { type: 'ChainInitialised', data: chain };
const attested = (height: number): Fact<'StateCheckpointed'> => ({
  type: 'StateCheckpointed',
  data: { chain: 'chain', height, root },
});

describe('sealing', () => {
  test('initialises a chain once', () => {
    given(sealing).when({ kind: 'initialise', chain }).emits([initialised]);
    given(sealing, block(3)).when({ kind: 'initialise', chain }).emits([]);
  });

  test('seals a block on the one before it, and nothing where that is another', () => {
    given(sealing).when(seal(1)).emits([]);
    given(sealing, initialised)
      .when(seal(1))
      .emits([block(1)]);
    given(sealing, block(7))
      .when(seal(8))
      .emits([block(8)]);
    for (const late of [7, 6, 9]) given(sealing, block(7)).when(seal(late)).emits([]);
  });

  test('attests the state of each thousandth block in the same decision, and goes on after it', () => {
    expect(checkpointEach).toBe(1_000);
    given(sealing, block(999))
      .when(seal(1_000))
      .emits([block(1_000), attested(1_000)]);
    given(sealing, attested(1_000))
      .when(seal(1_001))
      .emits([block(1_001)]);
  });
});
