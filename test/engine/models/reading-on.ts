import { type RawBuilder, sql } from 'kysely';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { nodeFacts } from '../../support/histories/facts.ts';
import { eventually } from '../../support/polling.ts';
import { type Database, openDatabase, startProjector } from './engine.ts';
import { MemoryLog } from './memory-log.ts';
import { countListed } from './small-model.ts';

/** Without a pause a reader takes a whole core, and what it reads is made the slower. */
const betweenReadsMs = 2;

/** Reads until the end, checks that each read fits the position it shows, and notes the schemas it saw. */
export async function readOn(
  { reader }: Database,
  log: MemoryLog,
  { seen, signal }: { seen: Set<string>; signal: AbortSignal },
) {
  const listed = countListed();
  let last = 0;
  while (!signal.aborted) {
    const { schema, sequence, n } = await reader.read(async ({ db, schemas, followed }) => {
      const { rows } = await countOfNodes(schemas.supernodes).execute(db);
      return { schema: schemas.supernodes, sequence: followed.supernodes.sequence, n: rows[0]?.n ?? 0 };
    });
    expect(sequence).toBeGreaterThanOrEqual(last);
    expect(n).toBe(listed(log.facts, sequence));
    last = sequence;
    seen.add(schema);
    await pause(betweenReadsMs);
  }
}

/** The counter of all nodes, in a schema of the small projection. */
export const countOfNodes = (schema: string): RawBuilder<{ n: number }> =>
  sql`select n from ${sql.id(schema, 'counters')} where of = 'nodes'`;

/** A database whose read model follows a log with one node. */
export async function withOneNode(): Promise<Database & Readonly<{ log: MemoryLog }>> {
  const database = await openDatabase();
  const log = new MemoryLog();
  log.append(nodeFacts('a').listed({ note: 'hello' }));
  startProjector(database, log);
  await eventually(async () => expect(await database.live()).toMatchObject({ position: 1 }));
  return { ...database, log };
}
