import { catalogue, type FactOf } from '../events/catalogue.ts';
import type { Kind } from '../events/streams.ts';
import type { Decider, Known } from './decider.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import { type Appended, type Cause, type Decision, type FactLog, maxBatch, type Recorded } from './ports.ts';

/** Each try lets at least one writer through, so this many may meet on one entity. */
const attempts = 64;

/** The result of handling commands. */
export type Handled<State> = Readonly<{
  /** Facts written. */
  facts: number;
  /** Position of the last append; undefined where nothing was appended. */
  last: Appended | undefined;
  /** Every entity as it is now. */
  states: ReadonlyMap<string, Known<State>>;
}>;

/**
 * Loads the last fact of each entity, decides, appends.
 *
 * Entities are handled in slices, each appended as one batch. An entity whose state is in `known` is not loaded. A
 * batch that meets a conflict is loaded and decided anew; what is in the log already decides nothing. Fails with
 * `UNAVAILABLE` when conflicts do not end.
 *
 * @example await handle(log, probing, new Map([[probe.node, probe]]), { at })
 */
export async function handle<Input, State, K extends Kind>(
  log: FactLog,
  decider: Decider<Input, State, K>,
  input: ReadonlyMap<string, Input>,
  { known, ...cause }: Cause & Readonly<{ known?: ReadonlyMap<string, Known<State>> | undefined }>,
): Promise<Handled<State>> {
  const states = new Map<string, Known<State>>();
  let facts = 0;
  let last: Appended | undefined;
  const entries = [...input];
  for (let from = 0; from < entries.length; from += entitiesPerSlice) {
    const slice = new Slice(decider, new Map(entries.slice(from, from + entitiesPerSlice)), states);
    for (const appended of await slice.handle(log, cause, known ?? new Map())) {
      facts += appended.ids.length;
      last = appended;
    }
  }
  return { facts, last, states };
}

const entitiesPerSlice = 500;

type Decided<K extends Kind> = Omit<Decision, 'facts'> & Readonly<{ facts: readonly FactOf<K>[] }>;

/**
 * Entities that are loaded by one read and whose facts are appended together; mutable: `states` is brought forward as
 * facts are in the log.
 */
class Slice<Options, State, K extends Kind> {
  readonly #decider: Decider<Options, State, K>;
  readonly #given: ReadonlyMap<string, Options>;
  readonly #states: Map<string, Known<State>>;

  constructor(
    decider: Decider<Options, State, K>,
    options: ReadonlyMap<string, Options>,
    states: Map<string, Known<State>>,
  ) {
    this.#decider = decider;
    this.#given = options;
    this.#states = states;
  }

  async handle(log: FactLog, cause: Cause, known: ReadonlyMap<string, Known<State>>): Promise<Appended[]> {
    const { kind } = this.#decider;
    const done: Appended[] = [];
    let before = known;
    for (let attempt = 0; attempt < attempts; attempt++) {
      await this.#load(log, before);
      const decisions = [...this.#given].flatMap(([entity, command]) => this.#decide(entity, command));
      try {
        for (const batch of batches(decisions)) {
          const appended = await log.append(batch, cause);
          done.push(appended);
          this.#advance(batch, appended);
        }
        return done;
      } catch (caught) {
        if (toAppError(caught).code !== 'CONFLICT') throw caught;
        before = new Map();
      }
    }
    throw new AppError(
      'UNAVAILABLE',
      `Gave up deciding about ${this.#given.size} ${kind} entities: others write them all the time`,
    );
  }

  async #load(log: FactLog, known: ReadonlyMap<string, Known<State>>): Promise<void> {
    const entities = [...this.#given.keys()];
    const unknown = entities.filter((entity) => !known.has(entity));
    const read = unknown.length === 0 ? new Map<string, Recorded>() : await log.last(this.#decider.kind, unknown);
    for (const entity of entities)
      this.#states.set(entity, known.get(entity) ?? knownFrom(this.#decider, entity, read.get(entity)));
  }

  #decide(entity: string, command: Options): Decided<K>[] {
    const { kind, decide, initialState } = this.#decider;
    const known: Known<State> = this.#states.get(entity) ?? { state: initialState, sequence: 0 };
    const facts = decide(command, known.state);
    return facts.length === 0 ? [] : [{ kind, entity, facts, expected: known.sequence, previous: known.id }];
  }

  /** The facts of a batch lie one after another in their stream. */
  #advance(batch: readonly Decided<K>[], { ids, sequence: end }: Appended): void {
    let position = 0;
    for (const { entity, facts } of batch) {
      position += facts.length;
      const fact = facts.at(-1);
      const id = ids[position - 1];
      if (fact === undefined || id === undefined) continue;
      const sequence = end - ids.length + position;
      this.#states.set(entity, { state: this.#decider.after(fact, { id, sequence }), sequence, id });
    }
  }
}

/** The state of an entity after its last fact; fails where the last record on its subject is of another kind. */
export function knownFrom<State, K extends Kind>(
  { kind, after, initialState }: Pick<Decider<never, State, K>, 'kind' | 'after' | 'initialState'>,
  entity: string,
  last: Recorded | undefined,
): Known<State> {
  if (last === undefined) return { state: initialState, sequence: 0 };
  if (catalogue[last.fact.type].kind !== kind)
    throw new AppError('INTERNAL', `A ${last.fact.type} lies on the subject of ${kind} ${entity}`);
  return { state: after(last.fact as FactOf<K>, last), sequence: last.sequence, id: last.id };
}

/** Decisions in their order, cut so that no batch holds more than the log takes at once. */
function batches<D extends Decision>(decisions: readonly D[]): D[][] {
  const all: D[][] = [];
  let size = maxBatch;
  for (const decision of decisions) {
    if (size + decision.facts.length > maxBatch) {
      all.push([]);
      size = 0;
    }
    all.at(-1)?.push(decision);
    size += decision.facts.length;
  }
  return all;
}
