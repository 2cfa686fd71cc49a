import { sql } from 'kysely';
import { changesAt, finalizedHeight } from './action-rows.ts';
import { type Owned, ownedIn } from './ownership.ts';
import { positionInput } from '../relation.ts';
import { MadeAt } from '../made-at.ts';
import type { Reading } from '../reading.ts';
import { run } from '../statement.ts';
import type { SuperNodeAccountRow } from '../tables.ts';
import { isOfType } from './totals/branches.ts';

/** How many actions a SuperNode finalized. */
export type NodeActions = Readonly<{ id: string; cascade: number; sense: number }>;

/** The owners of accounts, by account. */
type Owners = ReadonlyMap<string, readonly Owned[]>;

/** The counts of one position of the actions, and who owned which account then, read when needed. */
type Counted = Readonly<{ counts: readonly NodeActions[]; owners: Owners | undefined }>;

const cache = new WeakMap<object, MadeAt<Counted>>();

/** Beyond so many positions everything is counted anew. */
const mostChanges = 10_000;

/** The tables and all positions but that of the actions: with another one everything is counted anew. */
const tablesOf = ({ schemas, followed }: Reading): string =>
  JSON.stringify([schemas.actions, followed.actions.incarnation, schemas.supernodes, followed.supernodes]);

/**
 * The counts of a reading of the head: those of an earlier position with what changed since, or counted anew.
 *
 * So a count costs what changed, not what there is. A reading that is behind a cached one never sees it.
 */
export async function countedSince(
  reading: Reading,
  countAll: () => Promise<readonly NodeActions[]>,
): Promise<readonly NodeActions[]> {
  const { reader, followed } = reading;
  const cached = cache.get(reader) ?? new MadeAt<Counted>(mostChanges);
  cache.set(reader, cached);
  const { sequence } = followed.actions;
  const { counts } = await cached.get({ generation: tablesOf(reading), sequence }, async (before) =>
    before ? await advanced(reading, before.value, before.sequence) : { counts: await countAll(), owners: undefined },
  );
  return counts;
}

async function advanced(reading: Reading, before: Counted, at: number): Promise<Counted> {
  const [changes, owners] = await Promise.all([changesSince(reading, at), before.owners ?? ownersOf(reading)]);
  const byOperator = new Map<string, { cascade: number; sense: number }>();
  for (const { account, height, cascade, sense } of changes) {
    const operator = owners.get(account)?.find((owned) => isOwnedAt(owned, height))?.operator;
    if (operator === undefined) continue;
    const sum = byOperator.get(operator) ?? { cascade: 0, sense: 0 };
    byOperator.set(operator, { cascade: sum.cascade + cascade, sense: sum.sense + sense });
  }
  const counts = before.counts.map((one) => {
    const change = byOperator.get(one.id);
    return change ? { id: one.id, cascade: one.cascade - change.cascade, sense: one.sense - change.sense } : one;
  });
  return { counts, owners };
}

/** An action of unknown height is the current owner's. */
const isOwnedAt = ({ from, to }: Owned, height: number | null): boolean =>
  height === null ? to === Infinity : from <= height && height <= to;

type Change = Readonly<{ account: string; height: number | null; cascade: number; sense: number }>;

/** What leads from the counts of the head back to those of a position, by account and height. */
async function changesSince(reading: Reading, at: number): Promise<readonly Change[]> {
  const sumOf = (type: 'cascade' | 'sense') => sql`coalesce(sum(sign) filter (where ${isOfType(type)}), 0)::int8`;
  return await run<Change>(reading, {
    shape: `node counts since ${reading.schemas.actions}`,
    text: () => sql`
      select account, height, ${sumOf('cascade')} as cascade, ${sumOf('sense')} as sense from (
        select m.sign, m.kind::text as kind, ${finalizedHeight} as height, account
        from ${changesAt(reading, 'head', ['kind', 'height', 'accounts', 'finalize_tx'])} m
        cross join lateral jsonb_array_elements_text(m.accounts) account
      ) done group by account, height`,
    given: positionInput(reading, 'actions', at),
  });
}

async function ownersOf(reading: Reading): Promise<Owners> {
  const { supernodes } = reading.schemas;
  const claims = await run<SuperNodeAccountRow>(reading, {
    shape: `claims ${supernodes}`,
    text: () => sql`select * from ${sql.id(supernodes, 'supernode_accounts')}`,
    given: {},
  });
  return Map.groupBy(ownedIn(claims), ({ account }) => account);
}
