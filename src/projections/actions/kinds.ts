/** The types and states of actions, and a letter for each pair of them, by which indexes and counters tell them apart. */
export const kinds = [
  { type: 'cascade', state: 'registered', letter: 'r' },
  { type: 'cascade', state: 'finalized', letter: 'f' },
  { type: 'cascade', state: 'approved', letter: 'a' },
  { type: 'sense', state: 'registered', letter: 'R' },
  { type: 'sense', state: 'finalized', letter: 'F' },
  { type: 'sense', state: 'approved', letter: 'A' },
] as const;
/** What counters have for an action of no known type. */
export const otherKind = '?';
const letters = new Map(
  [...Map.groupBy(kinds, ({ type }): string => type)].map(([type, own]) => [
    type,
    new Map(own.map(({ state, letter }): [string, string] => [state, letter])),
  ]),
);
const types = [...new Set(kinds.map(({ type }) => type))];
const states = [...new Set(kinds.map(({ state }) => state))];

/** The kind of an action, as counters have it. */
export const kindOf = (type: string, state: string): string => letters.get(type)?.get(state) ?? otherKind;

type Asked = Readonly<{ type?: string | undefined; state?: string | undefined }>;

/** The kinds that may match; null is one that no action is of. How many there are depends on what is asked for alone. */
export const kindsIn = ({ type, state }: Asked): (string | null)[] =>
  (type === undefined ? types : [type]).flatMap((one) =>
    (state === undefined ? states : [state]).map(
      (inOne) => kinds.find((kind) => kind.type === one && kind.state === inOne)?.letter ?? null,
    ),
  );

const cases = kinds.map(({ type, state, letter }) => `when type = '${type}' and status = '${state}' then '${letter}'`);

/** The column of the letter: one byte in an index, where type and state are twenty. */
export const kindColumn = { type: '"char"', as: `(case ${cases.join(' ')} end)::"char"` } as const;
