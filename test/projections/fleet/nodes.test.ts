import { describe, expect, it } from 'vitest';
import { availability } from '../../../src/projections/fleet/availability.ts';
import { periods, supernodes } from '../../../src/projections/fleet/supernodes.ts';
import { validators } from '../../../src/projections/fleet/validators.ts';
import { nodeFacts, probeFacts, validatorFacts } from '../../support/histories/facts.ts';
import { handlersOf } from '../../support/histories/load-projection.ts';

const onSupernodes = handlersOf(supernodes);
const onValidators = handlersOf(validators);
const onAvailability = handlersOf(availability);

const listed = (...accounts: { account: string; height: number }[]) => {
  const row = onSupernodes.SuperNodeListed(undefined, nodeFacts('op').listed({ accounts }).data);
  if (!row) throw new Error('A listed SuperNode has a row');
  return row;
};
const period = (account: string, from_height: number, until_height: number | null, stated_height: number) => ({
  operator: 'op',
  account,
  from_height,
  until_height,
  stated_height,
});

describe('supernodes', () => {
  it('shows the record, null where the chain says nothing', () => {
    expect(listed({ account: 'a', height: 4 })).toEqual({
      id: 'op',
      state: 'active',
      state_height: null,
      state_reason: '',
      address: '192.0.2.1:4444',
      account: 'a',
      accounts: [{ account: 'a', height: 4 }],
      note: '',
      p2p_port: '4445',
      registered_height: null,
    });
  });

  it('replaces the record on a change and goes with a removal', () => {
    const { changed, removed } = nodeFacts('op');
    expect(onSupernodes.SuperNodeChanged(listed(), changed({ state: 'stopped', stateHeight: 8 }).data)).toMatchObject({
      state: 'stopped',
      state_height: 8,
    });
    expect(onSupernodes.SuperNodeRemoved(listed(), removed().data)).toBeNull();
  });

  it('stops at a change or removal of a node that is not listed', () => {
    const { changed, removed } = nodeFacts('op');
    expect(() => onSupernodes.SuperNodeChanged(undefined, changed().data)).toThrow('Cannot change SuperNode op');
    expect(() => onSupernodes.SuperNodeRemoved(undefined, removed().data)).toThrow('Cannot remove SuperNode op');
  });
});

describe('periods', () => {
  it('follow one another, the first from height 0 and the last without end', () => {
    const history = [
      { account: 'a', height: 4 },
      { account: 'b', height: 9 },
      { account: 'a', height: 12 },
    ];
    expect(periods(listed(...history))).toEqual([
      period('a', 0, 9, 4),
      period('b', 9, 12, 9),
      period('a', 12, null, 12),
    ]);
  });

  it('leave out an account that was replaced at its own height', () => {
    const history = [
      { account: 'a', height: 4 },
      { account: 'b', height: 9 },
      { account: 'c', height: 9 },
    ];
    expect(periods(listed(...history))).toEqual([period('a', 0, 9, 4), period('c', 9, null, 9)]);
  });

  it('begin at 0 with the account in use where no history is known', () => {
    expect(periods({ ...listed(), account: 'only' })).toEqual([period('only', 0, null, 0)]);
    expect(periods({ ...listed(), account: '' })).toEqual([]);
  });
});

describe('validators', () => {
  it('keep moniker, status and jailed, and go with a removal', () => {
    const facts = validatorFacts('op');
    const row = onValidators.ValidatorListed(undefined, facts.listed().data);
    expect(row).toEqual({ id: 'op', moniker: 'moniker of op', status: 'bonded', jailed: false });
    expect(onValidators.ValidatorChanged(row ?? undefined, facts.changed({ jailed: true }).data)).toMatchObject({
      jailed: true,
    });
    expect(onValidators.ValidatorRemoved(row ?? undefined, facts.removed().data)).toBeNull();
  });

  it('stop at a change of a validator that is not listed', () => {
    expect(() => onValidators.ValidatorChanged(undefined, validatorFacts('op').changed().data)).toThrow(
      'Cannot change validator op',
    );
  });
});

describe('availability', () => {
  const { succeeded, failed } = probeFacts('op');

  it('is what the latest probe found, with the last figures known', () => {
    expect(
      onAvailability.ProbeSucceeded(undefined, succeeded({ cpuCores: 8, storageTotalGb: 1.5 }).data),
    ).toMatchObject({
      id: 'op',
      available: true,
      failed_probe_counter: 0,
      status_answer: 'ok',
      version: 'v2.5.0',
      cpu_cores: 8,
      peer_count: null,
      storage_total_gb: 1.5,
      services: ['cascade'],
    });
  });

  it('needs no earlier probe: each carries what is known', () => {
    const known = { lastSeenAt: '2026-01-01T00:00:00Z', figures: { version: 'v2.4.0' }, services: ['sense'] };
    expect(onAvailability.ProbeFailed(undefined, failed(3, known).data)).toMatchObject({
      available: false,
      failed_probe_counter: 3,
      last_seen_at: '2026-01-01T00:00:00Z',
      version: 'v2.4.0',
      services: ['sense'],
      status_answer: 'timeout',
    });
  });

  it('has null figures while nothing was ever answered', () => {
    expect(onAvailability.ProbeFailed(undefined, failed(1).data)).toMatchObject({
      version: null,
      cpu_cores: null,
      last_seen_at: null,
    });
  });
});
