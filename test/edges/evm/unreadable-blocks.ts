import { createBlockHeader } from '@ethereumjs/block';
import { RLP } from '@ethereumjs/rlp';
import { bytesToHex } from '@ethereumjs/util';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import type { Fact } from '../../../src/events/catalogue.ts';

const seconds = 1_700_000_000;
/** The chain of these blocks. */
export const config = networkChain({ chainId: 76857769, seconds, accounts: {} });
export const forks = createForks(config);
/** A hash that holds a number. */
export const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;
/** An address that holds a number. */
export const address = (value: number): string => `0x${value.toString(16).padStart(40, '0')}`;

/** A block of two transactions with two logs each whose bytes are none: whatever reads them fails. */
export function unreadable(number: number): Fact<'BlockSealed'> {
  const place = { number: BigInt(number), timestamp: BigInt(seconds + number) };
  const fields = { ...place, gasLimit: 25_000_000n, gasUsed: 60_000n, baseFeePerGas: 1_000_000_000n };
  const header = createBlockHeader(fields, { common: forks.at(place) });
  const block = RLP.encode([header.raw(), [Uint8Array.of(2, 9, 9, 9), Uint8Array.of(2, 8)], [], []]);
  const receipt = (index: number) => ({
    hash: word(number * 10 + index),
    type: 2,
    from: address(9),
    to: address(7),
    succeeded: true,
    gasUsed: 30_000,
    cumulativeGasUsed: 30_000 * (index + 1),
    effectiveGasPrice: String(1_000_000_000 + 5 * (index + 1)),
    logs: [0, 1].map((at) => ({ address: address(index), topics: [word(at)], data: '0x0102' })),
    accounts: [],
    events: [],
    records: [],
    touched: [],
    gasLimit: 50_000,
  });
  const evm = {
    hash: bytesToHex(header.hash()),
    block: Buffer.from(block).toString('base64'),
    receipts: [receipt(0), receipt(1)],
  };
  const time = new Date((seconds + number) * 1000).toISOString();
  const data = { chain: 'chain', height: number, time, transactions: [], endBlockEvents: [], evm };
  return { type: 'BlockSealed', data };
}
