import { type RawBuilder, sql } from 'kysely';
import { expect } from 'vitest';
import type { Database } from './engine.ts';
import type { MemoryLog } from './memory-log.ts';
import { expected } from './small-model.ts';

/** Reads until the end, checks that each read fits the position it shows, and notes the schemas it saw. */
export async function readOn(
  { reader }: Database,
  log: MemoryLog,
  { seen, signal }: { seen: Set<string>; signal: AbortSignal },
) {
  let last = 0;
  while (!signal.aborted) {
    const { schema, sequence, n } = await reader.read(async ({ db, schemas, followed }) => {
      const { rows } = await countOfNodes(schemas.supernodes).execute(db);
      return { schema: schemas.supernodes, sequence: followed.supernodes.sequence, n: rows[0]?.n ?? 0 };
    });
    expect(sequence).toBeGreaterThanOrEqual(last);
    expect(n).toBe(expected(log.facts.slice(0, sequence)).nodes.filter(isListed).length);
    last = sequence;
    seen.add(schema);
  }
}

/** The counter of all nodes, in a schema of the small projection. */
export const countOfNodes = (schema: string): RawBuilder<{ n: number }> =>
  sql`select n from ${sql.id(schema, 'counters')} where of = 'nodes'`;

const isListed = (row: unknown): boolean => !(row as { removed: boolean }).removed;
