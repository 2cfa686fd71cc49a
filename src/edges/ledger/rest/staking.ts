import type { Validator } from '../../../commands/ledger/chain.ts';
import { bytesOf, operatorKey, prefixes } from '../../chain/sign/addresses.ts';
import { fail, nanoTime, type Routes } from './answer.ts';
import { pageByKey, pageOf } from './pages.ts';

const base = '/cosmos/staking/v1beta1';
const statuses = ['BOND_STATUS_UNBONDED', 'BOND_STATUS_UNBONDING', 'BOND_STATUS_BONDED'];
const unbondingDays = 21;

/** Validators, in the order of their address bytes. */
export const stakingRoutes: Routes = {
  [`${base}/validators`]: ({ chain, view, query }) => {
    const status = query.get('status') ?? '';
    if (status !== '' && !statuses.includes(status)) fail(3, `invalid validator status ${status}`);
    const all = view.genesis.validators.filter((validator) => status === '' || statusOf(validator) === status);
    const sorted = all.toSorted((a, b) => keyOf(a).compare(keyOf(b)));
    const { items, pagination } = pageByKey(sorted, keyOf, pageOf(query));
    return { validators: items.map((validator) => validatorRecord(validator, chain.startedAt)), pagination };
  },
  [`${base}/validators/{operator}`]: ({ chain, view, params }) => {
    const operator = params['operator'] ?? '';
    const decoded = bytesOf(prefixes.operator, operator);
    if ('problem' in decoded) fail(2, decoded.problem);
    const validator = view.genesis.validators.find((candidate) => candidate.operator === operator);
    return {
      validator: validator ? validatorRecord(validator, chain.startedAt) : fail(5, `validator ${operator} not found`),
    };
  },
  [`${base}/params`]: ({ view }) => ({
    params: {
      unbonding_time: `${unbondingDays * 86_400}s`,
      max_validators: 100,
      max_entries: 7,
      historical_entries: 10_000,
      bond_denom: view.genesis.params.denom,
      min_commission_rate: '0.000000000000000000',
    },
  }),
};

/** The key of the chain's store: the length of the address, then its bytes. */
function keyOf({ operator }: Validator): Buffer {
  const bytes = operatorKey(operator);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function statusOf({ isJailed }: Validator): string {
  return isJailed ? 'BOND_STATUS_UNBONDING' : 'BOND_STATUS_BONDED';
}

function validatorRecord(validator: Validator, startedAt: string): object {
  const unbonded = new Date(Date.parse(startedAt) + unbondingDays * 86_400_000).toISOString();
  return {
    operator_address: validator.operator,
    consensus_pubkey: { '@type': '/cosmos.crypto.ed25519.PubKey', key: validator.consensusKey },
    jailed: validator.isJailed,
    status: statusOf(validator),
    tokens: validator.tokens,
    delegator_shares: `${validator.tokens}.000000000000000000`,
    description: { moniker: validator.moniker, identity: '', website: '', security_contact: '', details: '' },
    unbonding_height: validator.isJailed ? '1' : '0',
    unbonding_time: validator.isJailed ? nanoTime(unbonded) : '1970-01-01T00:00:00Z',
    commission: {
      commission_rates: {
        rate: '0.100000000000000000',
        max_rate: '0.200000000000000000',
        max_change_rate: '0.010000000000000000',
      },
      update_time: nanoTime(startedAt),
    },
    min_self_delegation: '1',
    unbonding_on_hold_ref_count: '0',
    unbonding_ids: validator.isJailed ? ['1'] : [],
  };
}
