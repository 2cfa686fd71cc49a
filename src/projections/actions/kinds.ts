import { actionStates, type ActionState, actionTypes, type ActionType } from '../../events/words.ts';

/** A letter for each type and state of actions, their kind: indexes and counters distinguish actions by it. */
const letters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cascade: { registered: 'r', finalized: 'f', approved: 'a' },
  sense: { registered: 'R', finalized: 'F', approved: 'A' },
} satisfies Record<ActionType, Record<ActionState, string>>;

/** What counters have for an action of no known type. */
export const otherKind = '?';

/** The kind of an action, as counters have it. */
export const kindOf = (type: string, state: string): string => letters[type]?.[state] ?? otherKind;

type Request = Readonly<{ type?: string | undefined; state?: string | undefined }>;

/**
 * The kinds that may match; null is a kind that no action has. Their number depends only on which conditions the filter
 * has.
 */
export const kindsIn = ({ type, state }: Request): (string | null)[] =>
  (type === undefined ? actionTypes : [type]).flatMap((one) =>
    (state === undefined ? actionStates : [state]).map((inOne) => letters[one]?.[inOne] ?? null),
  );

const cases = actionTypes.flatMap((type) =>
  actionStates.map((state) => `when type = '${type}' and status = '${state}' then '${kindOf(type, state)}'`),
);

/** The column of the letter: one byte in an index, where type and state are twenty. */
export const kindColumn = { type: '"char"', as: `(case ${cases.join(' ')} end)::"char"` } as const;
