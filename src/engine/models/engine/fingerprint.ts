import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Fact, streamOf } from '../../../events/catalogue.ts';
import { createSumming } from './checksum.ts';
import { StopError } from '../database-error.ts';
import { type Folding, storedTables } from './folding.ts';
import type { Generation } from './generations.ts';
import { createIndependentFold, type See } from '../build/independent-fold.ts';

/** Facts of every kind in orders that matter, refused ones among them; changes only together with every version. */
const historyFile = new URL('../../../projections/golden-history.jsonl', import.meta.url);
const known = new WeakMap<Folding, string>();

/**
 * Names what a projection makes of facts: the shape of its tables, and the rows, derived rows and counters that a fixed
 * history of facts folds to.
 *
 * Another wording of the same handlers has the same fingerprint; other behaviour over that history, another one.
 */
export function fingerprintOf(folding: Folding): string {
  const match = known.get(folding) ?? fingerprint(folding);
  known.set(folding, match);
  return match;
}

/** Fails when a generation was made by other handlers or tables than this program has for the same version. */
export function refuseOtherHandlers(folding: Folding, { generation, version, fingerprint: made }: Generation): void {
  if (version !== folding.version || made === fingerprintOf(folding)) return;
  throw new StopError(
    `Generation ${generation} of ${folding.name} was made by version ${version} with fingerprint ${made}; this program's ` +
      `version ${version} has fingerprint ${fingerprintOf(folding)}: its handlers or tables were changed without a new ` +
      `version. Raise the version of the projection, then the next generation is built beside this one`,
  );
}

function fingerprint(folding: Folding): string {
  const summings = new Map(storedTables(folding).map((table) => [table.name, createSumming(table)]));
  const see: See = (table, row) => summings.get(table)?.add(row);
  const fold = createIndependentFold(folding, { see });
  const refused: number[] = [];
  for (const [index, fact] of history().entries()) {
    if (streamOf(fact.type) !== folding.stream) continue;
    try {
      fold.take([{ fact, id: '', sequence: index + 1, time: '' }]);
    } catch {
      refused.push(index);
    }
  }
  // The history is short: nothing is spilled, and no caller waits.
  Array.from(fold.show());
  const rows = [...summings].map(([name, summing]) => [name, summing.checksum().filter((one) => one.rows > 0)]);
  return createHash('sha256')
    .update(
      JSON.stringify([folding.table, folding.derivedTables, folding.counters.map(({ table }) => table), refused, rows]),
    )
    .digest('hex')
    .slice(0, 16);
}

let facts: readonly Fact[] | undefined;

function history(): readonly Fact[] {
  facts ??= readFileSync(historyFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Fact);
  return facts;
}
