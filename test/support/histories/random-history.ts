import type { Fact } from '../../../src/events/catalogue.ts';
import { actionFacts, nodeFacts, probeFacts, timeOf, transactionAt, validatorFacts } from './facts.ts';

/** A source of numbers that a seed decides. */
export type Random = Readonly<{
  /** A whole number below a bound. */
  below: (bound: number) => number;
  pick: <T>(from: readonly [T, ...T[]]) => T;
  chance: (share: number) => boolean;
}>;

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const pick = <T>(from: readonly [T, ...T[]]): T => from[Math.floor(next() * from.length)] ?? from[0];
  return { below: (bound) => Math.floor(next() * bound), pick, chance: (share) => next() < share };
}

/** Operators of the random fleet; bytewise order differs from the order of the alphabet. */
export const operators = ['op-A', 'op-B', 'op-C', 'op-Z', 'op-a', 'op-b', 'op-c'] as const;
/** Accounts that move between them; the last one is nobody's. */
export const accounts = ['acc0', 'acc1', 'acc2', 'acc3', 'acc4', 'acc5', 'acc6', 'acc7', 'stranger'] as const;
export const creators = ['creator0', 'creator1', 'creator2', 'acc0'] as const;
export const kinds = ['cascade', 'sense'] as const;
/** Of few files, so that some actions have the same data: as the chain writes them, and in the digits of others. */
export const hashes = Array.from({ length: 7 }, (_, at) => Buffer.alloc(32, at + 250).toString('base64'));
/** Heights are multiples of this: they spread over several days and buckets. */
const apart = 1000;
const lastHeight = 60 * apart;

/** Facts of a whole network in an order in which they may lie in the log. */
export function randomHistory(seed: number, size: { actions: number }): Fact[] {
  const random = seeded(seed);
  return [...randomFleet(random), ...tellAgain(randomActions(random, size.actions))];
}

/** Marks payments of a transaction that paid the same account in the same denomination for an action before. */
export function tellAgain(facts: readonly Fact[]): Fact[] {
  const first = new Map<string, string>();
  return facts.map((fact) => {
    if (fact.type !== 'ActionFinalized' && fact.type !== 'ActionTransactionFound') return fact;
    const { action, transaction, payments } = fact.data;
    const told = payments.map((paid) => {
      const key = `${transaction?.hash} ${paid.account} ${paid.denom}`;
      if (!first.has(key)) first.set(key, action);
      return first.get(key) === action ? paid : { ...paid, again: true };
    });
    return { ...fact, data: { ...fact.data, payments: told } } as Fact;
  });
}

function randomActions(random: Random, count: number): Fact[] {
  const start = 10n ** BigInt(random.pick([0, 1, 20]));
  return Array.from({ length: count }).flatMap((_, at) =>
    randomAction(random, String(start + BigInt(at * 3 + random.below(3)))),
  );
}

function randomAction(random: Random, id: string): Fact[] {
  const height = random.below(lastHeight / apart) * apart;
  const facts = actionFacts(id, {
    creator: random.pick(creators),
    dataHash: random.chance(0.9) ? (hashes[Number(BigInt(id) % BigInt(hashes.length))] ?? '') : '',
  });
  const transaction = random.chance(0.8) ? transactionAt(height) : undefined;
  const stated = random.chance(0.9) ? height : undefined;
  const life: Fact[] = [facts.registered({ kind: random.pick(kinds), height: stated, transaction })];
  if (random.chance(0.2)) return random.chance(0.5) ? [...life, facts.expired()] : life;
  life.push(facts.finalized(randomWork(random, height)));
  if (random.chance(0.3))
    life.push(
      facts.found('finalize', { ...randomWork(random, height), transaction: transactionAt(height + 9 * apart) }),
    );
  if (random.chance(0.5))
    life.push(facts.approved(random.chance(0.7) ? { transaction: transactionAt(height + 12 * apart) } : {}));
  if (!transaction && random.chance(0.5)) life.push(facts.found('register', { transaction: transactionAt(height) }));
  return life;
}

/** Who finalized, and what the transaction paid where it is known. Actions of one height share a transaction. */
function randomWork(random: Random, height: number) {
  const workers = [...new Set(Array.from({ length: random.below(4) }, () => random.pick(accounts)))];
  if (random.chance(0.3)) return { accounts: workers };
  const payments = workers.flatMap((account) =>
    Array.from({ length: 1 + random.below(2) }, () => ({
      account,
      denom: random.pick(['ulume', 'uother']),
      amount: random.pick(['1', '250', '99999999999999999999999']),
    })),
  );
  return { accounts: workers, payments, transaction: transactionAt(height + random.below(9) * apart) };
}

/**
 * At every height an account belongs to one operator at most, as on the chain; some nodes leave, some never had a
 * probe.
 */
function randomFleet(random: Random): Fact[] {
  const free = new Set<string>(accounts.slice(0, -1));
  const histories = new Map<string, { account: string; height: number }[]>(operators.map((operator) => [operator, []]));
  for (let height = 0; height < lastHeight; height += (1 + random.below(6)) * apart) {
    const operator = random.pick(operators);
    const history = histories.get(operator) ?? [];
    const [account] = [...free].toSorted(() => random.below(3) - 1);
    if (account === undefined) continue;
    free.delete(account);
    const former = history.at(-1)?.account;
    if (former !== undefined) free.add(former);
    history.push({ account, height });
  }
  return [...histories].flatMap(([operator, history]) => randomNode(random, operator, history));
}

function randomNode(random: Random, operator: string, history: readonly { account: string; height: number }[]): Fact[] {
  const node = nodeFacts(operator);
  const record = {
    accounts: history,
    account: history.at(-1)?.account ?? '',
    state: random.pick(['active', 'stopped', 'postponed']),
  };
  const facts: Fact[] = [node.listed({ ...record, accounts: history.slice(0, 1) }), node.changed(record)];
  if (random.chance(0.2)) facts.push(node.removed());
  const validator = validatorFacts(operator);
  const validating = { status: random.pick(['bonded', 'unbonding', 'unbonded']), jailed: random.chance(0.4) };
  if (random.chance(0.8)) facts.push(validator.listed(validating));
  if (random.chance(0.1)) facts.push(validator.listed(validating), validator.removed());
  const probe = probeFacts(operator);
  const figures = {
    version: random.pick(['v2.4.0', 'v2.5.0', '']),
    memoryTotalGb: random.below(64),
    storageTotalGb: random.below(999),
  };
  const cpu = random.chance(0.7) ? { cpuUsagePercent: random.below(100) } : {};
  if (random.chance(0.7)) facts.push(probe.succeeded({ ...figures, ...cpu }));
  if (random.chance(0.4))
    facts.push(probe.failed(1 + random.below(4), { lastSeenAt: timeOf(3), figures, services: ['sense'] }));
  return facts;
}
