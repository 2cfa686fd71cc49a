import { type ChainConfig as EthereumChain, parseGethGenesis, parseGethGenesisState } from '@ethereumjs/common';
import { AppError, toAppError } from '../../../../kit/errors.ts';
import type { Genesis as LedgerGenesis } from '../../../../commands/ledger/chain.ts';
import { contractAddresses } from '../../contracts/addresses.ts';
import { type FeeRule, networkFees } from '../base-fee.ts';
import { predeploys } from './predeploys.ts';

/** The genesis of a chain in the form of `geth`. */
export type GethGenesis = Parameters<typeof parseGethGenesis>[0];

/**
 * What distinguishes one chain from another: plain data, so that it travels to worker threads.
 *
 * `feesTo: 'coinbase'`: base fees are paid to the block's coinbase instead of being burned. `ledger`: the genesis of
 * the ledger whose rules its system contracts call.
 */
export type ChainConfig = Readonly<{
  genesis: GethGenesis;
  fees: FeeRule;
  feesTo: 'burned' | 'coinbase';
  ledger?: LedgerGenesis | undefined;
}>;

/** Accounts of a genesis by address (0x and 40 hex digits, or without 0x). */
export type GenesisAccounts = GethGenesis['alloc'];

const networkGasLimit = 25_000_000;

/**
 * The storage network's own chain: all forks up to Prague from the first block, its fee market, base fees paid to the
 * coinbase, blocks of 25 million gas.
 *
 * @example
 * networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts: { [address]: { balance: '0x1' } } })
 */
export function networkChain(
  input: Readonly<{
    chainId: number;
    seconds: number;
    accounts: GenesisAccounts;
    ledger?: LedgerGenesis | undefined;
  }>,
): ChainConfig {
  const { chainId, seconds, accounts, ledger } = input;
  const contracts = Object.fromEntries(Object.values(contractAddresses).map((address) => [address, contractAccount]));
  const blocks = Object.fromEntries(blockForks.map((fork) => [`${fork}Block`, 0]));
  const times = { shanghaiTime: 0, cancunTime: 0, pragueTime: 0 };
  const merged = { mergeNetsplitBlock: 0, terminalTotalDifficulty: 0, terminalTotalDifficultyPassed: true };
  return {
    fees: networkFees,
    feesTo: 'coinbase',
    ledger,
    genesis: {
      config: { chainId, ...blocks, ...merged, ...times, blobSchedule },
      nonce: '0x0',
      timestamp: hex(seconds),
      extraData: '0x',
      gasLimit: hex(networkGasLimit),
      difficulty: '0x0',
      mixHash: `0x${'00'.repeat(32)}`,
      coinbase: `0x${'00'.repeat(20)}`,
      baseFeePerGas: hex(networkFees.initial),
      excessBlobGas: '0x0',
      alloc: {
        ...predeployed,
        ...(ledger && contracts),
        ...accounts,
      },
    },
  };
}

/** For clients that check for code; none of it ever runs. */
const contractAccount = { balance: '0x0', nonce: '0x1', code: '0xfe' } as const;
const predeployed: GenesisAccounts = Object.fromEntries(
  Object.values(predeploys).map(({ address, code }) => [address, { balance: '0x0', nonce: '0x1', code }]),
);
const blockForks = 'homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul berlin london'.split(
  ' ',
);
const blobSchedule = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
};
const hex = (value: number | bigint): `0x${string}` => `0x${value.toString(16)}`;

/** Parameters of the library for a genesis. Fails with `INVALID_ARGUMENT` when it cannot be read. */
export function chainParameters(genesis: GethGenesis): EthereumChain {
  return reading(() => {
    const parsed: unknown = parseGethGenesis(genesis);
    const parameters = { ...(parsed as EthereumChain), name: genesis.name ?? 'ethereum' };
    // The library reads the later blob schedules under names that it does not look up.
    for (const [fork, schedule] of Object.entries(genesis.config.blobSchedule ?? {})) {
      const custom = parameters.customHardforks?.[fork];
      const { target = 0, max = 0, baseFeeUpdateFraction = 1 } = schedule;
      if (custom && fork.startsWith('bpo'))
        custom.params = { target, max, blobGasPriceUpdateFraction: baseFeeUpdateFraction };
    }
    return parameters;
  });
}

/** Accounts of the genesis, in the library's form. */
export const genesisState = (genesis: GethGenesis): ReturnType<typeof parseGethGenesisState> =>
  reading(() => parseGethGenesisState(genesis));

/** The chain id; at most 2^53 - 1, the limit of a genesis in JSON. */
export const chainIdOf = ({ genesis }: ChainConfig): bigint => BigInt(genesis.config.chainId);

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `The genesis cannot be read: ${toAppError(caught).message}`, {
      cause: caught,
    });
  }
}
