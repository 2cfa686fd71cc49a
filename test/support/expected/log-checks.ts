import { deepStrictEqual, notDeepStrictEqual, ok } from 'node:assert/strict';
import type { Recorded } from '../../../src/commands/ports.ts';
import { sources } from '../../../src/events/words.ts';
import { entityOf, type Fact } from '../../../src/events/catalogue.ts';
import { type StreamName, streams } from '../../../src/events/streams.ts';
import type { ChainState } from '../chains/chain-stub-state.ts';
import { unlinked } from '../histories/facts.ts';
import { trueActions, trueFacts, trueNode, trueValidator } from '../chains/chain-truth.ts';

type Json = Readonly<Record<string, unknown>>;

/** Everything that lies in a log. */
export type Facts = Readonly<Record<StreamName, readonly Recorded[]>>;

/**
 * Holds the facts of every action against what the chain tells of it: each once, in order, and true.
 *
 * Unless the log has been brought to the chain's head (`whole`), the end of an action's life may be missing.
 */
export function checkActions(chain: ChainState, facts: Facts, { whole }: { whole: boolean }): void {
  const found = Map.groupBy(facts.ACTIONS, ({ fact }) => entityOf(fact));
  for (const action of trueActions(chain)) {
    const own = (found.get(action.id) ?? []).map(({ fact }) => withoutMoment(chain, fact));
    const truth = trueFacts(action);
    deepStrictEqual(own, whole ? truth : truth.slice(0, own.length), `action ${action.id}`);
    found.delete(action.id);
  }
  deepStrictEqual([...found.keys()], [], 'actions that the chain does not know');
}

/**
 * Holds the facts of SuperNodes or validators against the chain: each is news, and true at its height; see
 * `checkActions`.
 */
export function checkNodes(
  chain: ChainState,
  facts: Facts,
  { what, whole }: { what: 'SuperNode' | 'Validator'; whole: boolean },
): void {
  const truth = what === 'SuperNode' ? trueNode : trueValidator;
  const listed = new Map<string, Json>();
  for (const { fact } of facts.NODES.filter(({ fact: { type } }) => type.startsWith(what))) {
    const { seenAtHeight, record } = fact.data as { seenAtHeight: number; record: Json };
    const entity = entityOf(fact);
    const before = listed.get(entity);
    const now = truth(chain, entity, seenAtHeight);
    const verb = now === undefined ? 'Removed' : before === undefined ? 'Listed' : 'Changed';
    deepStrictEqual({ type: fact.type, record }, { type: `${what}${verb}`, record: now ?? before }, entity);
    notDeepStrictEqual(now, before, `${fact.type} of ${entity} at ${seenAtHeight} is no news`);
    if (now) listed.set(entity, now);
    else listed.delete(entity);
  }
  if (!whole) return;
  const operators = what === 'SuperNode' ? chain.supernodes : chain.validators;
  const final = [...operators.keys()].map((id) => [id, truth(chain, id, chain.height)] as const);
  deepStrictEqual(Object.fromEntries(listed), Object.fromEntries(final));
}

/** No fact lies in the log twice, neither by its id nor by what it says. */
export function checkOnce(facts: Facts): void {
  for (const stream of streams) {
    const said = facts[stream].map(({ fact }) => JSON.stringify([fact.type, fact.data]));
    deepStrictEqual(repeated(said), [], `${stream} says something twice`);
    deepStrictEqual(repeated(facts[stream].map(({ id }) => id)), [], `${stream} holds an id twice`);
  }
}

/** Every event names the one of its entity before it. */
export function checkLinks(facts: Facts): void {
  for (const stream of streams) deepStrictEqual(unlinked(facts[stream]), [], `${stream} has events without their link`);
}

/** Rounds go up the chain, and probes count on from one another. */
export function checkCounts(facts: Facts): void {
  ok(facts.SYNC.filter(({ fact }) => fact.type === 'ChainIdentified').length <= 1, 'the chain was identified twice');
  for (const source of sources) {
    const heights = factsOf(facts, 'SYNC', source).flatMap(({ type, data }) =>
      type === 'SyncRoundCompleted' ? [data.height] : [],
    );
    deepStrictEqual(
      heights,
      heights.toSorted((a, b) => a - b),
      `rounds of ${source}`,
    );
  }
  for (const node of new Set(facts.PROBES.map(({ fact }) => entityOf(fact)))) {
    let failures = 0;
    for (const { type, data } of factsOf(facts, 'PROBES', node)) {
      failures = type === 'ProbeFailed' ? failures + 1 : 0;
      const { consecutiveFailures } = (data as { known: { consecutiveFailures: number } }).known;
      deepStrictEqual(consecutiveFailures, failures, `probes of ${node}`);
    }
  }
}

function factsOf(facts: Facts, stream: StreamName, entity: string): Fact[] {
  return facts[stream].map(({ fact }) => fact).filter((fact) => entityOf(fact) === entity);
}

function repeated(texts: readonly string[]): string[] {
  const seen = new Set<string>();
  return texts.filter((text) => seen.size === seen.add(text).size);
}

/** A fact of an action without what depends on when it was looked at, which must be true for itself. */
function withoutMoment(chain: ChainState, { type, data }: Fact): Json {
  const { seenAtHeight, ...fixed } = data as { seenAtHeight?: number; action?: string };
  if (type === 'ActionExpired' && seenAtHeight !== undefined)
    deepStrictEqual(chain.at(seenAtHeight).actions.get(data.action)?.['state'], 'ACTION_STATE_EXPIRED');
  if (type !== 'ActionFinalized') return { type, data: fixed };
  const { metadata, ...rest } = data;
  if (metadata !== undefined) deepStrictEqual(metadata, chain.action(data.action)['metadata']);
  return { type, data: rest };
}
