import type { Fact, FactOf } from '../../events/catalogue.ts';
import { Command, type Decider } from '../decider.ts';

/**
 * One operator's entry in a list of the chain, which was read completely at one height; `record` is undefined where the
 * list does not name the operator.
 */
export type RecordListed<Entry> = Readonly<{ operator: string; height: number; record: Entry | undefined }>;

/** The known state of an operator on a list: the last record, and its height. */
type ListedState<Entry> = Seen<Entry> & Readonly<{ isListed: boolean }>;
type Seen<Entry> = Readonly<{ seenAtHeight: number; record: Entry }>;

type ListKind = 'node' | 'validator';

/** The three facts of a list: how they are named, read and written. */
type ListNames<K extends ListKind, Entry> = Readonly<{
  listed: FactOf<K>['type'];
  changed: FactOf<K>['type'];
  removed: FactOf<K>['type'];
  seen: (fact: FactOf<K>) => Seen<Entry> & Readonly<{ type: FactOf<K>['type'] }>;
  fact: (type: FactOf<K>['type'], operator: string, seen: Seen<Entry>) => FactOf<K>;
}>;

/**
 * Decides which operators a list of the chain names and what their entries hold; a list older than the last known one
 * decides nothing.
 */
export function listed<K extends ListKind, Entry>(
  kind: K,
  names: ListNames<K, Entry>,
): Decider<RecordListed<Entry>, ListedState<Entry> | undefined, K> {
  return {
    kind,
    initialState: undefined,
    after(fact) {
      const { type, seenAtHeight, record } = names.seen(fact);
      return { seenAtHeight, record, isListed: type !== names.removed };
    },
    decide({ operator, height: seenAtHeight, record }, state) {
      if (state !== undefined && seenAtHeight < state.seenAtHeight) return [];
      if (record === undefined)
        return state?.isListed ? [names.fact(names.removed, operator, { seenAtHeight, record: state.record })] : [];
      if (!state?.isListed) return [names.fact(names.listed, operator, { seenAtHeight, record })];
      return same(record, state.record) ? [] : [names.fact(names.changed, operator, { seenAtHeight, record })];
    },
  };
}

/**
 * Returns whether two plain values are equal; an absent field equals an undefined one, and the order of fields does not
 * matter.
 */
function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [present(a), present(b)];
  return left.size === right.size && [...left].every(([key, value]) => right.has(key) && same(value, right.get(key)));
}

function present(value: object): Map<string, unknown> {
  return new Map(Object.entries(value).filter(([, field]) => field !== undefined));
}

/** A SuperNode as the chain's list describes it. */
export type SuperNodeRecord = Fact<'SuperNodeListed'>['data']['record'];

/** Decides which SuperNodes the chain lists, and what their entries hold. */
export const supernodes = listed<'node', SuperNodeRecord>('node', {
  listed: 'SuperNodeListed',
  changed: 'SuperNodeChanged',
  removed: 'SuperNodeRemoved',
  seen: ({ type, data }) => ({ type, ...data }),
  fact: (type, node, seen) => ({ type, data: { node, ...seen } }),
});

/** Records the entries of a list of SuperNodes, which was read completely at one height. */
export class RecordSuperNodes extends Command<
  RecordListed<SuperNodeRecord>,
  ListedState<SuperNodeRecord> | undefined
> {}

/** A validator as far as it counts here. */
export type ValidatorRecord = Fact<'ValidatorListed'>['data']['record'];

/** Which validators the chain lists: moniker, status and jailed. */
export const validators = listed<'validator', ValidatorRecord>('validator', {
  listed: 'ValidatorListed',
  changed: 'ValidatorChanged',
  removed: 'ValidatorRemoved',
  seen: ({ type, data }) => ({ type, ...data }),
  fact: (type, validator, seen) => ({ type, data: { validator, ...seen } }),
});

/** Records the entries of a list of validators, which was read completely at one height. */
export class RecordValidators extends Command<
  RecordListed<ValidatorRecord>,
  ListedState<ValidatorRecord> | undefined
> {}
