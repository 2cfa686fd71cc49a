import type { GenesisState } from '../ledger/log-fold.ts';
import { castOf, moduleAddress, peopleOf } from './cast.ts';
import { developmentAccounts } from './development-accounts.ts';
import { randomOf } from './random.ts';
import { historySpanMs } from './timeline.ts';

/** Chain id of every local network. */
export const localChainId = 'annals-local-1';
/** Denomination that everything is paid in on a local network. */
export const denom = 'ulume';

const personBalance = '1000000000000';

/**
 * The genesis of the local network's chain: validators, accounts and parameters of a seed.
 *
 * The chain starts as long before `now` (unix milliseconds) as its short history takes, so that it ends about now.
 */
export function localBeginning(seed: number, now: number, subnet?: string): GenesisState {
  const cast = castOf(seed, subnet);
  const random = randomOf(`${seed}/validators`);
  const funded = [
    ...peopleOf(cast).map(({ account }) => account),
    ...cast.realNodes.flatMap(({ operator, account }) => [operator.account, account.account]),
    ...developmentAccounts().map(({ account }) => account),
  ];
  const validating = [...cast.nodes, { operator: cast.bystander, moniker: 'genesis' }, ...cast.realNodes];
  const validators = validating.map((validator) => ({
    operator: validator.operator.operator,
    consensusKey: random.bytes(32).toString('base64'),
    moniker: validator.moniker,
    tokens: String(random.between(1_000_000_000, 9_000_000_000)),
    isJailed: 'isJailed' in validator && validator.isJailed,
  }));
  return {
    chainId: localChainId,
    time: new Date(now - historySpanMs(seed)).toISOString(),
    genesis: {
      params: {
        denom,
        baseActionFee: '10000',
        feePerKbyte: '10',
        expirationSeconds: 45,
        maxRaptorQSymbols: 6,
        maxDdAndFingerprints: 4,
        maxActionsPerBlock: 10,
        poolShareBps: 200,
        minimumStake: '100000000',
      },
      modules: {
        action: moduleAddress('action'),
        supernode: moduleAddress('supernode'),
        feeCollector: moduleAddress('fee_collector'),
      },
      accounts: funded.map((address) => ({ address, balance: personBalance })),
      validators,
      contracts: 2,
    },
  };
}
