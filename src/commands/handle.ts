import type { Fact } from '../events/catalogue.ts';
import type { Decider } from './decider.ts';
import { AppError, toAppError } from './errors.ts';
import { type Appended, type Cause, type Decision, type FactLog, maxBatch, type Recorded } from './ports.ts';

/** Each try lets at least one writer through, so this many may meet on one entity. */
const attempts = 64;

/** What handling commands came to: facts written, and where the last append ended (none: nothing to say). */
export type Handled = Readonly<{ facts: number; last: Appended | undefined }>;

/**
 * Loads the last fact of each entity, decides, appends.
 *
 * Entities are taken in slices, each appended as one batch. A batch that meets a conflict is loaded and decided anew; what is in
 * the log already decides nothing. Fails with `UNAVAILABLE` when conflicts do not end.
 *
 * @example await handle(log, probing, new Map([[probe.node, probe]]), { at })
 */
export async function handle<Command, State, F extends Fact>(
  log: FactLog,
  decider: Decider<Command, State, F>,
  commands: ReadonlyMap<string, Command>,
  cause: Cause,
): Promise<Handled> {
  let facts = 0;
  let last: Appended | undefined;
  const entries = [...commands];
  for (let from = 0; from < entries.length; from += entitiesPerSlice) {
    const slice = entries.slice(from, from + entitiesPerSlice);
    for (const appended of await handleSlice(log, decider, slice, cause)) {
      facts += appended.ids.length;
      last = appended;
    }
  }
  return { facts, last };
}

const entitiesPerSlice = 500;

async function handleSlice<Command, State, F extends Fact>(
  log: FactLog,
  decider: Decider<Command, State, F>,
  slice: readonly (readonly [string, Command])[],
  cause: Cause,
): Promise<Appended[]> {
  const done: Appended[] = [];
  for (let attempt = 0; attempt < attempts; attempt++) {
    const known = await log.last(
      decider.kind,
      slice.map(([entity]) => entity),
    );
    const decisions = slice.flatMap(([entity, command]) => decideOne(decider, entity, command, known.get(entity)));
    try {
      for (const batch of batches(decisions)) done.push(await log.append(batch, cause));
      return done;
    } catch (caught) {
      if (toAppError(caught).code !== 'CONFLICT') throw caught;
    }
  }
  throw new AppError(
    'UNAVAILABLE',
    `Gave up deciding about ${slice.length} ${decider.kind} entities: others write them all the time`,
  );
}

function decideOne<Command, State, F extends Fact>(
  decider: Decider<Command, State, F>,
  entity: string,
  command: Command,
  last: Recorded | undefined,
): Decision[] {
  if (last && !decider.isOwn(last.fact))
    throw new AppError('INTERNAL', `A ${last.fact.type} lies on the subject of ${decider.kind} ${entity}`);
  const state = last && decider.isOwn(last.fact) ? decider.after(last.fact, last) : decider.initialState;
  const facts = decider.decide(command, state);
  return facts.length === 0 ? [] : [{ kind: decider.kind, entity, facts, expected: last?.sequence ?? 0 }];
}

/** Decisions in their order, cut so that no batch holds more than the log takes at once. */
function batches(decisions: readonly Decision[]): Decision[][] {
  const all: Decision[][] = [];
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
