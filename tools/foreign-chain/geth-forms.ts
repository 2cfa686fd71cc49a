import { RLP } from '@ethereumjs/rlp';
import { ordinaryFees } from '../../src/edges/evm/executor/base-fee.ts';
import type { ChainConfig, GethGenesis } from '../../src/edges/evm/executor/state/genesis.ts';

/** A chain of another network: its genesis in the form of geth defines everything. */
export const foreignChain = (genesis: GethGenesis): ChainConfig => ({
  genesis,
  fees: ordinaryFees,
  feesTo: 'burned',
});

/** The blocks of a file that holds their RLP forms one behind the other. */
export function* splitBlocks(bytes: Uint8Array): Generator<Uint8Array> {
  let rest = bytes;
  while (rest.length > 0) {
    const { data, remainder } = RLP.decode(rest, true);
    yield rest.subarray(0, rest.length - remainder.length);
    if (!Array.isArray(data)) throw new Error('The file of blocks holds something else');
    rest = remainder;
  }
}
