import type pg from 'pg';
import { AppError } from '../../commands/errors.ts';
import { projectionNames, type ProjectionName } from '../../projections/projection.ts';
import type { Followed, Reading } from '../../projections/reading.ts';
import type { Generation } from './generations.ts';
import { kyselyOver } from './kysely-client.ts';

/** A live generation as readers see it. */
export type Live = Omit<Followed, 'sequence'> & Pick<Generation, 'projection' | 'schema' | 'position'>;
/** The live generations by projection. */
export type LiveGenerations = ReadonlyMap<ProjectionName, Live>;

/** The generations are not what a look took them for: what was read may be wrong, and is read anew. */
export class Moved extends AppError {
  constructor() {
    super('UNAVAILABLE', 'The read models were replaced again and again while they were read; try again soon');
    this.name = 'Moved';
  }
}

/** A reading, and whether what it took for granted of the projections that it named was so. */
export type Look = Readonly<{ reading: Reading; isSound: () => Promise<boolean> }>;

/** Starts a look within an open transaction; the generations are `taken` to be what the transaction is `finding` out. */
export function startLook(
  client: pg.PoolClient,
  taken: LiveGenerations,
  finding: Promise<LiveGenerations>,
  reader: object,
): Look {
  const named = new Set<ProjectionName>();
  const of = (name: ProjectionName): Live => {
    named.add(name);
    const live = taken.get(name);
    if (!live)
      throw new AppError('UNAVAILABLE', `Projection ${name} is being built for the first time; try again soon`);
    return live;
  };
  const isSound = async (): Promise<boolean> => {
    const found = await finding;
    return [...named].every((name) => isSame(taken.get(name), found.get(name)));
  };
  const reading = {
    db: kyselyOver(client),
    reader,
    schemas: onDemand((name) => of(name).schema),
    followed: onDemand((name) => {
      const { stream, incarnation, position } = of(name);
      return { stream, incarnation, sequence: position };
    }),
    confirmed: async (): Promise<void> => {
      if (!(await isSound())) throw new Moved();
    },
  };
  return { reading, isSound };
}

function isSame(a: Live | undefined, b: Live | undefined): boolean {
  return a?.schema === b?.schema && a?.position === b?.position && a?.incarnation === b?.incarnation;
}

/** A record whose values are found when they are asked for, so that a read needs only the projections that it names. */
function onDemand<T>(find: (name: ProjectionName) => T): Readonly<Record<ProjectionName, T>> {
  const record = {};
  for (const name of projectionNames) Object.defineProperty(record, name, { enumerable: true, get: () => find(name) });
  return record as Readonly<Record<ProjectionName, T>>;
}
