import type { FactOf } from '../../events/catalogue.ts';

type NodeFact = FactOf<'node'>;

/**
 * What the chain's list had of a SuperNode at a height, as far as its facts tell; what they do not tell is undefined.
 */
export type NodeAtHeight = Readonly<{
  operator: string;
  state: string | undefined;
  address: string | undefined;
  registeredHeight: number | null;
}>;

/**
 * A SuperNode as it was on the chain's list at a height, from all facts of it in their order; null where it was not
 * listed then, undefined where the facts do not tell whether it was.
 *
 * A record counts from the height at which it was read. What it states with an earlier height counts from that one: the
 * registration, and the last state entry. Of the time before, nothing but the registration is told.
 */
export function nodeAtHeight(facts: readonly NodeFact[], height: number): NodeAtHeight | null | undefined {
  const seen = facts.filter(({ data }) => data.seenAtHeight <= height).at(-1);
  const next = facts.find(({ data }) => data.seenAtHeight > height);
  const isListed = seen && seen.type !== 'SuperNodeRemoved';
  // What was not listed at the last read may have been registered since.
  const shown = isListed ? seen : registeredBy(next, height, seen?.data.seenAtHeight ?? -1);
  if (!shown) return shown;
  const { node, record } = shown.data;
  return {
    operator: node,
    state: stateAt(lifeOf(facts, shown), height),
    address: isListed ? record.address : undefined,
    registeredHeight: record.registeredHeight ?? null,
  };
}

/** The next read of a node where it shows that the node was registered by a height; undefined where nothing tells. */
function registeredBy(next: NodeFact | undefined, height: number, after: number): NodeFact | null | undefined {
  if (!next || next.type === 'SuperNodeRemoved') return null;
  const { registeredHeight } = next.data.record;
  if (registeredHeight === undefined) return after >= 0 ? null : undefined;
  return registeredHeight > after && registeredHeight <= height ? next : null;
}

/** The facts of a node from its listing on that a fact belongs to: what it was before it left says nothing of it. */
function lifeOf(facts: readonly NodeFact[], fact: NodeFact): readonly NodeFact[] {
  const left = facts.slice(0, facts.indexOf(fact)).findLastIndex(({ type }) => type === 'SuperNodeRemoved');
  return facts.slice(left + 1);
}

/** The state entry of the greatest height up to one; an entry without a height counts from when it was read. */
function stateAt(facts: readonly NodeFact[], height: number): string | undefined {
  const entries = facts
    .filter(({ type }) => type !== 'SuperNodeRemoved')
    .map(({ data: { seenAtHeight, record } }) => ({ state: record.state, since: record.stateHeight ?? seenAtHeight }));
  return entries
    .filter(({ since }) => since <= height)
    .toSorted((a, b) => a.since - b.since)
    .at(-1)?.state;
}
