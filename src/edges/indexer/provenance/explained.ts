import type { Static } from 'typebox';
import { recordedFrom } from '../../../engine/log/envelope.ts';
import { cleanRow, type Row } from '../../../engine/models/engine/folding.ts';
import type { Recorded } from '../../../commands/ports.ts';
import { eventType } from '../../../events/upcast.ts';
import type { StreamName } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import { actions } from '../../../projections/actions/actions.ts';
import { explain, statesOf } from '../../../projections/explain.ts';
import { availability } from '../../../projections/fleet/availability.ts';
import { periods, supernodes } from '../../../projections/fleet/supernodes.ts';
import type { ProjectionName } from '../../../projections/projection.ts';
import type { ActionRow } from '../../../projections/tables.ts';
import type { RestDependencies } from '../rest/dependencies.ts';
import { rowsOf } from '../rest/past-records.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { type PublicRecord, eventsOfRecord } from './record-events.ts';
import type { explainedFields } from './record-schemas.ts';

/** Each field of a record, explained. */
export type Explained = Static<typeof explainedFields.schema>;

type EventLocation = Explained[string]['event'];
type Sources = Pick<RestDependencies, 'events' | 'past' | 'reader'>;
type Fields = Readonly<Record<string, unknown>>;
type Shown = Readonly<{ by: Recorded; fields: Fields }>;

/** More events than any record has. */
const most = 1_000_000;

/** Explains an action; `fieldsOf` is what is shown of a row of it. */
export async function explainedAction(
  sources: Sources,
  { reading }: Pick<ReadSnapshot, 'reading'>,
  { id, fieldsOf }: Readonly<{ id: string; fieldsOf: (row: ActionRow) => Promise<Fields> }>,
): Promise<Explained> {
  const record = { of: 'actions', stream: 'ACTIONS', kind: 'action', id } as const;
  const events = await eventsUpTo(sources, record, positionIn(reading, 'actions'));
  const states: Shown[] = [];
  const rows = folded(() => statesOf(actions, events));
  for (const { by, row } of rows) states.push({ by, fields: row ? await fieldsOf(clean(row)) : {} });
  const { supernodes: joined, ...own } = placed('ACTIONS', states);
  if (!joined) return own;
  const accounts = rows.at(-1)?.row?.accounts ?? [];
  const operators = Array.isArray(joined.value) ? joined.value.map(String) : [];
  const owning = await Promise.all(
    operators.map((operator) => owningEvent(sources, { operator, accounts, upTo: positionIn(reading, 'supernodes') })),
  );
  const named = owning.filter((event) => event !== null);
  const last = named.toSorted((a, b) => a.sequence - b.sequence).at(-1);
  return { ...own, supernodes: { ...joined, event: last ?? joined.event, events: [joined.event, ...named] } };
}

type Owning = Readonly<{ operator: string; accounts: readonly string[]; upTo: number }>;

/** The event of an operator's record since which it claims accounts as it does now; null where none is known. */
async function owningEvent(sources: Sources, { operator, accounts, upTo }: Owning): Promise<EventLocation> {
  const record = { of: 'supernodes', stream: 'NODES', kind: 'node', id: operator } as const;
  const events = await eventsUpTo(sources, record, upTo);
  const claims = folded(() => statesOf(supernodes, events)).map(({ by, row }) => ({
    by,
    fields: { claimed: row ? periods(row).filter(({ account }) => accounts.includes(account)) : [] },
  }));
  const { claimed } = explain(claims);
  return claimed ? locationOf('NODES', claimed.by) : null;
}

/** Fields of a SuperNode that the chain's list states, and those that follow from all nodes; probes state the rest. */
const ofRecord: ReadonlySet<string> = new Set(['id', 'ip', 'current_state']);
const ofAll: ReadonlySet<string> = new Set(['rank']);

/**
 * Explains a SuperNode: what the chain's list states by the events of its record, and what probes state by the last
 * one, which carries on what earlier ones found, with what the one before it stated. What follows from all nodes has no
 * event.
 *
 * `showing` is what is shown of the node with some columns replaced.
 */
export async function explainedNode(
  sources: Sources,
  { reading }: Pick<ReadSnapshot, 'reading'>,
  { id, showing }: Readonly<{ id: string; showing: (columns: object) => Fields }>,
): Promise<Explained> {
  const record = { of: 'supernodes', stream: 'NODES', kind: 'node', id } as const;
  const events = await eventsUpTo(sources, record, positionIn(reading, 'supernodes'));
  const states = folded(() => statesOf(supernodes, events)).map(({ by, row }) => ({
    by,
    fields: row ? fieldsIn(showing(clean(row)), (name) => ofRecord.has(name)) : {},
  }));
  const [last, before] = await lastProbes(sources, id, positionIn(reading, 'availability'));
  const stated = (probe: Recorded | undefined) =>
    fieldsIn(showing(Object.assign({}, ...(probe ? rowsOf(availability, probe) : []))), (name) => !ofRecord.has(name));
  const was = before ? stated(before) : {};
  const byProbe = Object.entries(stated(last)).map(([name, value]): [string, Explained[string]] => [
    name,
    ofAll.has(name) || !last
      ? { value, event: null, was: null }
      : { value, event: locationOf('PROBES', last), was: was[name] ?? null },
  ]);
  return { ...placed('NODES', states), ...Object.fromEntries(byProbe) };
}

const fieldsIn = (fields: Fields, isWanted: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => isWanted(name)));

/** The sequence up to which a snapshot knows the stream of a projection. */
export function positionIn({ at, followed }: ReadSnapshot['reading'], projection: ProjectionName): number {
  const { stream, sequence } = followed[projection];
  return at ? (at.positions[stream] ?? 0) : sequence;
}

/** The events of a record up to a sequence, decoded. */
export async function eventsUpTo(sources: Sources, record: PublicRecord, upTo: number): Promise<Recorded[]> {
  const events = await eventsOfRecord(sources, record, { after: 0, limit: most });
  return events
    .filter(({ sequence }) => sequence <= upTo)
    .map(({ sequence, body }) => recordedFrom(record.stream, { sequence, bytes: body }));
}

/** The last probe of a node, and the one before it. */
async function lastProbes({ past }: Sources, node: string, upTo: number): Promise<Recorded[]> {
  const last = (await past.lastAsOf('probe', [node], upTo)).get(node);
  const before = last && (await past.lastAsOf('probe', [node], last.sequence - 1)).get(node);
  return [last, before].filter((one) => one !== undefined);
}

/** A record whose first events are in neither store any more cannot be folded. */
export function folded<T>(fold: () => T): T {
  try {
    return fold();
  } catch (cause) {
    throw new AppError('GONE', 'Not all events of this record are kept any more, so its fields cannot be explained.', {
      cause,
    });
  }
}

/** A row as the read model has it. */
export function clean<T extends object>(row: T): T {
  return cleanRow(row as unknown as Row, undefined) as unknown as T;
}

function placed(stream: StreamName, states: readonly Shown[]): Explained {
  const fields = Object.entries(explain(states));
  return Object.fromEntries(
    fields.map(([name, { value, by, was }]) => [name, { value, event: locationOf(stream, by), was }]),
  );
}

function locationOf(stream: StreamName, { sequence, id, time, fact }: Recorded): NonNullable<EventLocation> {
  return { stream, sequence, id, type: eventType(fact.type), time };
}
