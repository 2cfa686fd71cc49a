import { actionsAt, detailAt, type Expectations, type ExpectedStep } from './recorded-expectations.ts';

type Counts = Readonly<Record<string, number>>;
const types = ['cascade', 'sense'];
const statuses = ['registered', 'finalized', 'approved'];
const nodeStates = ['active', 'disabled', 'stopped', 'penalized', 'postponed', 'storage_full'];
const bondStates = ['bonded', 'unbonding', 'unbonded'];

const countOf = (counts: Counts, word: string): number => counts[word] ?? 0;

/** The `total` of the list of actions for each filter, by query. */
export function totalsAt({ totals }: ExpectedStep): ReadonlyMap<string, number> {
  const { by_type, by_status, by_type_and_status, by_creator } = totals;
  return new Map([
    ['', totals.actions],
    ...types.map((type) => [`type=${type}`, countOf(by_type, type)] as const),
    ...statuses.map((status) => [`state=${status}`, countOf(by_status, status)] as const),
    ...types.flatMap((type) =>
      statuses.map(
        (status) => [`type=${type}&state=${status}`, countOf(by_type_and_status, `${type}/${status}`)] as const,
      ),
    ),
    ...Object.entries(by_creator).map(([creator, total]) => [`creator=${creator}`, total] as const),
  ]);
}

/** The answer of the counts of actions. */
export function countsAt({ totals }: ExpectedStep): Counts {
  return {
    total_actions: totals.actions,
    cascade_count: countOf(totals.by_type, 'cascade'),
    sense_count: countOf(totals.by_type, 'sense'),
    registered_count: countOf(totals.by_status, 'registered'),
    finalized_count: countOf(totals.by_status, 'finalized'),
    approved_count: countOf(totals.by_status, 'approved'),
    expired_count: countOf(totals.by_chain_state, 'expired'),
  };
}

/** The SuperNodes that each word of `currentState` has to find. */
export function nodesByCurrentState({ supernodes, validators }: ExpectedStep): ReadonlyMap<string, readonly string[]> {
  const validator = (id: string) => validators.find((one) => one.id === id);
  const idsWhere = (fits: (node: Readonly<{ id: string; state: string }>) => boolean) =>
    supernodes.filter(fits).map(({ id }) => id);
  return new Map([
    ...nodeStates.map((word) => [word, idsWhere(({ state }) => state === word)] as const),
    ...bondStates.map((word) => [word, idsWhere(({ id }) => validator(id)?.status === word)] as const),
    ['jailed', idsWhere(({ id }) => validator(id)?.jailed === true)],
  ]);
}

/** How many actions a SuperNode has finalized. */
export function finalizedAt(
  expected: Expectations,
  step: ExpectedStep,
  id: string,
): Readonly<Record<string, number | string>> {
  const done = actionsAt(expected, step).filter((action) => detailAt(action, step).supernodes.includes(id));
  const count = (type: string) => done.filter((action) => action.type === type).length;
  return { id, cascade_count: count('cascade'), sense_count: count('sense'), total_count: done.length };
}

/** What a SuperNode's accounts were paid; each transaction counts once. */
export function earnedAt(expected: Expectations, step: ExpectedStep, id: string): readonly object[] {
  const owned = new Set(step.supernodes.find((node) => node.id === id)?.accounts.map(({ account }) => account));
  const paid = actionsAt(expected, step)
    .filter(({ finalize }) => finalize && finalize.height <= step.height)
    .flatMap(({ finalize, payments }) => payments.map((payment) => ({ ...payment, tx: finalize?.tx_hash })))
    .filter(({ account }) => owned.has(account));
  return [...Map.groupBy(paid, ({ denom }) => denom)].map(([denom, group]) => ({
    denom,
    total_amount: String(group.reduce((sum, { amount }) => sum + BigInt(amount), 0n)),
    payment_count: new Set(group.map(({ tx }) => tx)).size,
  }));
}

/**
 * The records that are new or differ from before, by id; without the id, and without what only the REST API makes of
 * them.
 */
export function differing(
  now: readonly Readonly<{ id: string }>[],
  before: readonly Readonly<{ id: string }>[] = [],
): Record<string, unknown> {
  const known = new Map(before.map((record) => [record.id, JSON.stringify(record)]));
  const changed = now.filter((record) => known.get(record.id) !== JSON.stringify(record));
  const bare = ({ id: _id, ip: _ip, ...record }: Readonly<{ id: string; ip?: string }>) => record;
  return Object.fromEntries(changed.map((record) => [record.id, bare(record)]));
}
