import type { Decider } from '../../../src/commands/decider.ts';
import { handle } from '../../../src/commands/handle.ts';
import type { Decision } from '../../../src/commands/ports.ts';
import { entityOf, type Fact } from '../../../src/events/catalogue.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { accountOf } from '../chains/chain-stub-state.ts';
import { actionFacts, nodeFacts, probeFacts, transactionAt } from './facts.ts';
import type { Random } from './random-history.ts';

const batchFacts = 900;
/** Heights grow with ids; each block holds a few actions. */
const actionsPerBlock = 3;

/** Where in the chain an action was registered. */
export const heightOf = (id: number): number => 10 + Math.floor(id / actionsPerBlock);

/** Accounts that register actions. */
export const creators = ['ann', 'bob', 'cem', 'dee'].map(accountOf) as [string, string, string, string];

/** The life of one action: most are finalized and paid, many approved, some expire. */
export function lifeOf(random: Random, id: number, workers: readonly [string, ...string[]], creator: string): Fact[] {
  const height = heightOf(id);
  const facts = actionFacts(String(id), { creator, dataHash: `hash of ${id}`, expiresAt: '2027-01-01T00:00:00Z' });
  const kind = random.chance(0.3) ? 'sense' : 'cascade';
  const price = { denom: 'ulume', amount: String(100 + random.below(9_000)) };
  const life: Fact[] = [facts.registered({ kind, height, price, transaction: transactionAt(height) })];
  if (random.chance(0.15)) return random.chance(0.5) ? [...life, facts.expired()] : life;
  const account = random.pick(workers);
  const payments = [{ account, denom: 'ulume', amount: String(1 + random.below(9_000)) }];
  life.push(facts.finalized({ accounts: [account], payments, transaction: transactionAt(height + 2) }));
  if (random.chance(0.85)) life.push(facts.approved({ transaction: transactionAt(height + 5) }));
  return life;
}

/** What probes of a node found, all of them just now, so that none is due; it ends available where `isUp`. */
export function probesOf(random: Random, node: string, count: number, isUp: boolean): Fact[] {
  const probes = probeFacts(node, new Date().toISOString());
  const figures = { version: 'v2.4.0', cpuUsagePercent: 40, memoryTotalGb: 32, storageTotalGb: 2048 };
  let failures = 0;
  return Array.from({ length: count }, (_, place) => {
    const passes = place === count - 1 ? isUp : random.chance(0.8);
    failures = passes ? 0 : failures + 1;
    return passes
      ? probes.succeeded({ ...figures, peerCount: random.below(90) })
      : probes.failed(failures, { figures });
  });
}

/** A node's record going to and fro; it ends as the last fact of the log has it. */
export function changesOf(log: Log, node: string, count: number): Promise<Fact[]> {
  return log.last('node', [node]).then((last) => {
    const fact = last.get(node)?.fact;
    if (fact?.type !== 'SuperNodeListed' && fact?.type !== 'SuperNodeChanged')
      throw new Error(`The log does not list ${node}`);
    const { seenAtHeight, record } = fact.data;
    const { changed } = nodeFacts(node);
    return Array.from({ length: count }, (_, place) => {
      const note = place === count - 1 ? record.note : `note ${place}`;
      return { ...changed(), data: { node, seenAtHeight, record: { ...record, note } } };
    });
  });
}

/** Appends the facts of one entity after what the log has of it, whoever else writes about it. */
export async function appendTo(log: Log, kind: Decision['kind'], facts: readonly Fact[]): Promise<void> {
  const [first] = facts;
  if (!first) return;
  const entity = entityOf(first);
  for (let from = 0; from < facts.length; from += batchFacts)
    await handle(log, writing(kind), new Map([[entity, facts.slice(from, from + batchFacts)]]), cause());
}

/** Whatever is asked to be written is written. */
const writing = (kind: Decision['kind']): Decider<readonly Fact[], undefined, Decision['kind']> => ({
  kind,
  initialState: undefined,
  after: () => undefined,
  decide: (facts) => facts,
});

/** Appends lives of actions that the log does not know yet, many at once. */
export async function appendLives(log: Log, lives: readonly (readonly Fact[])[]): Promise<void> {
  const perBatch = Math.floor(batchFacts / 3);
  for (let from = 0; from < lives.length; from += perBatch) {
    const decisions = lives.slice(from, from + perBatch).flatMap((facts) => {
      const [first] = facts;
      return first ? [{ kind: 'action' as const, entity: entityOf(first), facts, expected: 0 }] : [];
    });
    await log.append(decisions, cause());
  }
}

const cause = () => ({ at: new Date().toISOString() });
