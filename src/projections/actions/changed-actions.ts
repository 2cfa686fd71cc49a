import { sql } from 'kysely';
import type { ActionFilter } from './action-filter.ts';
import type { StatsFilter } from './action-stats.ts';
import type { Reading } from '../reading.ts';
import { run, slot } from '../statement.ts';
import type { ActionRow } from '../tables.ts';

/** An action as it was at some position; `accounts` finalized it or were paid for it. */
export type ActionVersion = Readonly<{ accounts: readonly string[] }> &
  Pick<ActionRow, 'id' | 'type' | 'status' | 'creator' | 'height' | 'created_at'>;

/** Returns whether an answer depends on a version of an action. */
export type DependsOn = (version: ActionVersion) => boolean;

/** All versions that actions had between two positions, both included, of those that changed in between. */
type Step = Readonly<{ to: number; versions: readonly ActionVersion[] }>;

/** The steps of one table of actions, which cover the positions from one to another. */
type Recent = { readonly of: string; from: number; to: number; steps: Step[]; next?: Next | undefined };
type Next = Readonly<{ to: number; done: Promise<unknown> }>;

/** Positions whose changes are cached; what is older is read anew. */
const mostPositions = 1000;

const cache = new WeakMap<object, Recent>();

/**
 * Returns whether an action that an answer depends on changed after a position, up to that of a reading of the head;
 * also where that is not known.
 *
 * The changes of each position are read once, however many answers are compared with them.
 */
export async function hasChangedSince(reading: Reading, position: number, dependsOn: DependsOn): Promise<boolean> {
  const { sequence } = reading.followed.actions;
  if (sequence <= position) return sequence < position;
  const { from, steps } = await recentUntil(reading, position);
  return from > position || steps.some(({ to, versions }) => to > position && versions.some(dependsOn));
}

/** The changes up to a reading's position: those cached before, or those since a position. */
async function recentUntil(reading: Reading, since: number): Promise<Recent> {
  const { sequence } = reading.followed.actions;
  const recent = recentOf(reading, since);
  if (sequence <= recent.to) return recent;
  if (recent.next?.to === sequence) {
    // Another reading of this position reads them; where it fails, the answer is computed anew.
    await recent.next.done.catch(() => undefined);
    return recent.to < sequence ? { ...recent, from: Infinity } : recent;
  }
  const done = extend(recent, reading, sequence);
  recent.next = { to: sequence, done };
  try {
    await done;
    return recent;
  } finally {
    if (recent.next.done === done) recent.next = undefined;
  }
}

function recentOf({ reader, schemas, followed }: Reading, since: number): Recent {
  const of = JSON.stringify([schemas.actions, followed.actions.incarnation]);
  const before = cache.get(reader);
  const { sequence } = followed.actions;
  if (before?.of === of && sequence - before.to <= mostPositions) return before;
  const from = Math.max(since, sequence - mostPositions);
  const recent: Recent = { of, from, to: from, steps: [] };
  cache.set(reader, recent);
  return recent;
}

async function extend(recent: Recent, reading: Reading, to: number): Promise<void> {
  const versions = await versionsAfter(reading, recent.to);
  // Steps may overlap, and nothing between them is left out.
  if (to <= recent.to) return;
  recent.to = to;
  recent.steps.push({ to, versions });
  for (let [first] = recent.steps; first && to - recent.from > mostPositions; [first] = recent.steps) {
    recent.from = first.to;
    recent.steps.shift();
  }
}

const compared = ['id', 'type', 'status', 'creator', 'height', 'created_at', 'accounts', 'payments'] as const;

type VersionRow = Pick<ActionRow, (typeof compared)[number]>;

/** The actions that changed after a position, as they are, and as they were at it and since. */
async function versionsAfter(reading: Reading, after: number): Promise<readonly ActionVersion[]> {
  const columns = sql.join(compared.map((column) => sql.id(column)));
  const [live, past] = ['actions', 'actions_past'].map((table) => sql.id(reading.schemas.actions, table));
  const rows = await run<VersionRow>(reading, {
    shape: `changed ${reading.schemas.actions}`,
    // With an order and a limit, the plan for any position reads the index of positions from its end.
    text: () => sql`
      with changed as materialized (
        select ${columns} from ${live} latest where position > ${slot('after')}::int8
        order by position desc limit ${sql.lit(mostPositions)})
      select ${columns} from changed
      union all select superseded.* from changed cross join lateral (
        select ${columns} from ${past} one where one.id = changed.id and one.until > ${slot('after')}::int8 offset 0
      ) superseded`,
    given: { after },
  });
  return rows.map(({ payments, accounts, ...row }) => ({
    ...row,
    accounts: [...new Set([...accounts, ...payments.map(({ account }) => account)])],
  }));
}

/** What a list depends on: the actions that match its filter; `accounts` are those that the filter stands for. */
export function dependenceOfList(
  { type, state, creator, fromHeight, toHeight, supernode }: ActionFilter,
  accounts: readonly string[],
): DependsOn {
  const isBounded = fromHeight !== undefined || toHeight !== undefined;
  const [from, to] = [fromHeight ?? -Infinity, toHeight ?? Infinity];
  const own = new Set(accounts);
  return (version) =>
    (type === undefined || version.type === type) &&
    (state === undefined || version.status === state) &&
    (creator === undefined || version.creator === creator) &&
    (!isBounded || (version.height !== null && version.height >= from && version.height <= to)) &&
    (supernode === undefined || version.accounts.some((account) => own.has(account)));
}

/** What the counts of a window depend on. */
export const dependenceOfCounts =
  ({ type, from, to }: StatsFilter): DependsOn =>
  ({ type: own, created_at: at }) =>
    (type === undefined || own === type) &&
    (from === undefined || (at !== null && at >= from)) &&
    (to === undefined || (at !== null && at <= to));
