import type { FactOf } from '../../../events/catalogue.ts';

type ActionFact = FactOf<'action'>;
type Step = 'register' | 'finalize' | 'approve';

const stepOfFact = {
  ActionRegistered: 'register',
  ActionFinalized: 'finalize',
  ActionApproved: 'approve',
} as const satisfies Partial<Record<ActionFact['type'], Step>>;

/** The chain's state after a step that nothing else is known of. */
const stateAfter = { register: 'pending', finalize: 'done', approve: 'approved' } as const satisfies Record<
  Step,
  string
>;

/**
 * The facts of one action up to a height of the chain, as they would lie in the log if nothing later had been read;
 * none below its registration, undefined where the log does not tell whether a step was taken at or below that height.
 *
 * A step without a transaction lies between the steps around it. What was observed, such as an expiry, counts from the
 * height at which it was seen. A fact repeats what was known when it was written, so the chain's state is that of the
 * facts that remain.
 *
 * @example factsUpTo(facts, 120)?.map(({ type }) => type) // ['ActionRegistered', 'ActionFinalized']
 */
export function factsUpTo(facts: readonly ActionFact[], height: number): readonly ActionFact[] | undefined {
  const heights = stepHeights(facts);
  const taken = new Map<Step, boolean>();
  for (const step of steps) {
    if (!facts.some((fact) => stepIn(fact) === step)) continue;
    const isTaken = isTakenAt(heights, step, height);
    if (isTaken === undefined) return undefined;
    taken.set(step, isTaken);
    if (!taken.get('register')) return [];
  }
  const kept: ActionFact[] = [];
  let state = '';
  let hasDropped = false;
  for (const fact of facts) {
    const step = stepIn(fact);
    if (step ? !taken.get(step) : heightOf(fact) > height) {
      hasDropped ||= isObservation(fact);
      continue;
    }
    if (step) state = hasDropped ? stateAfter[step] : fact.data.known.chainState;
    else if (isObservation(fact)) state = fact.data.known.chainState;
    const known = { ...fact.data.known, chainState: state };
    kept.push({ ...fact, data: { ...withoutLater(fact, height), known } } as ActionFact);
  }
  return kept;
}

const steps = ['register', 'finalize', 'approve'] as const;

const stepIn = ({ type }: ActionFact): Step | undefined => (stepOfFact as Partial<Record<string, Step>>)[type];

const isObservation = ({ type }: ActionFact): boolean => type === 'ActionExpired' || type === 'ActionStateObserved';

/** The height of a fact of its own; none of a step that no transaction shows. */
function heightOf({ type, data }: ActionFact): number {
  switch (type) {
    case 'ActionRegistered':
      return data.height ?? data.transaction?.height ?? NaN;
    case 'ActionFinalized':
    case 'ActionApproved':
    case 'ActionTransactionFound':
      return data.transaction?.height ?? NaN;
    case 'ActionExpired':
    case 'ActionStateObserved':
      return data.seenAtHeight;
  }
}

/** The least height at which each step is known to have been taken; a transaction may have been found later. */
function stepHeights(facts: readonly ActionFact[]): ReadonlyMap<Step, number> {
  const heights = new Map<Step, number>();
  for (const fact of facts) {
    const step = fact.type === 'ActionTransactionFound' ? steps.find((one) => one === fact.data.step) : stepIn(fact);
    const height = heightOf(fact);
    if (step && !Number.isNaN(height)) heights.set(step, Math.min(height, heights.get(step) ?? Infinity));
  }
  return heights;
}

/** Whether a step was taken at or below a height; undefined where nothing tells. */
function isTakenAt(heights: ReadonlyMap<Step, number>, step: Step, height: number): boolean | undefined {
  const own = heights.get(step);
  if (own !== undefined) return own <= height;
  const at = steps.indexOf(step);
  if (steps.slice(at + 1).some((later) => (heights.get(later) ?? Infinity) <= height)) return true;
  if (steps.slice(0, at).some((earlier) => (heights.get(earlier) ?? 0) > height)) return false;
  return undefined;
}

/** The data of a step's fact without a transaction above the height, where another one showed the step before. */
function withoutLater({ type, data }: ActionFact, height: number): ActionFact['data'] {
  if (!('transaction' in data) || (data.transaction?.height ?? 0) <= height) return data;
  const { transaction: _, ...others } = data;
  return type === 'ActionFinalized' ? { ...others, accounts: [], payments: [] } : others;
}
