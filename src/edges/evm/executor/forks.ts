import { paramsBlock } from '@ethereumjs/block';
import { Common } from '@ethereumjs/common';
import { paramsEVM } from '@ethereumjs/evm';
import { paramsTx } from '@ethereumjs/tx';
import { paramsVM } from '@ethereumjs/vm';
import { type ChainConfig, chainParameters } from './state/genesis.ts';
import { keccak256 } from './keccak.ts';
import { kzg } from './kzg.ts';
import { recoverKey } from './recover.ts';

/** The position of a block in the history of forks. */
export type ForkPosition = Readonly<{ number: bigint; timestamp: bigint }>;

/** The library's rules for each fork of a chain. */
export type Forks = Readonly<{
  /** Rules at a block; the same object for every block of a fork. */
  at: (location: ForkPosition) => Common;
  /** The same without the limit of gas per transaction: what is only simulated may use more. */
  withoutGasCap: (place: ForkPosition) => Common;
}>;

const noGasCap = '0xffffffffffffffff';

/**
 * Prepares the rules of a chain, each fork's once and frozen.
 *
 * The library copies its rules, and clones all their tables, for every transaction and header that it makes; a frozen
 * instance is its own copy, which makes sealing 4 to 5 times faster.
 */
export function createForks(config: ChainConfig): Forks {
  const chain = chainParameters(config.genesis);
  const base = new Common({ chain });
  const bounded = new Map<string, Common>();
  const unbounded = new Map<string, Common>();
  const frozen = (made: Map<string, Common>, overrides: Overrides, { number, timestamp }: ForkPosition): Common => {
    const fork = base.getHardforkBy({ blockNumber: number, timestamp });
    const known = made.get(fork) ?? freeze(new Common({ chain, hardfork: fork, customCrypto }), overrides);
    made.set(fork, known);
    return known;
  };
  const { denominator, elasticity, initial } = config.fees;
  const fees = {
    baseFeeMaxChangeDenominator: Number(denominator),
    elasticityMultiplier: Number(elasticity),
    initialBaseFee: Number(initial),
  };
  return {
    at: (place) => frozen(bounded, { 1559: fees }, place),
    withoutGasCap: (place) => frozen(unbounded, { 1559: fees, 7825: { maxTransactionGasLimit: noGasCap } }, place),
  };
}

const customCrypto = { ecrecover: recoverKey, kzg, keccak256 };

type Overrides = Parameters<Common['updateParams']>[0];

function withParameters(common: Common, overrides: Overrides = {}): Common {
  for (const params of [paramsBlock, paramsEVM, paramsTx, paramsVM, overrides]) common.updateParams(params);
  return common;
}

/** The rules of a chain that can be set to any fork, for comparisons of forks. */
export const changeableRules = (config: ChainConfig): Common =>
  withParameters(new Common({ chain: chainParameters(config.genesis), customCrypto }));

function freeze(common: Common, overrides: Overrides): Common {
  withParameters(common, overrides);
  const ignore = (): void => undefined;
  return Object.assign(common, { copy: () => common, updateParams: ignore, setHardfork: ignore });
}
