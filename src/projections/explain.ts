import type { Fact, FactType } from '../events/catalogue.ts';
import type { StreamName } from '../events/streams.ts';
import type { RowOf, Table } from './columns.ts';
import type { Handler, Projection } from './projection.ts';

/** A record after one of its facts: what the fact lies in, and the row that it made; null where it removed the row. */
export type RecordState<Event, Row> = Readonly<{ by: Event; row: Row | null }>;

/** A field of a record: its value, the event that brought it there, and its value before that event. */
export type Explanation<Event> = Readonly<{ value: unknown; by: Event; was: unknown }>;

/**
 * The states of one record, one after each of its facts, by the projection's own steps.
 *
 * `events` are all events of the record from its first one on, in their order; every fact of it touches its row alone.
 * Throws what a step throws where one is missing.
 */
export function statesOf<
  Main extends Table,
  Other extends Table,
  Stream extends StreamName,
  Event extends Readonly<{ fact: Fact }>,
>({ on }: Projection<Main, Other, Stream>, events: readonly Event[]): RecordState<Event, RowOf<Main>>[] {
  const handlers = on as unknown as Readonly<Record<string, Handler<RowOf<Main>, FactType> | undefined>>;
  let row: RowOf<Main> | null = null;
  return events.map((by) => {
    const handler = handlers[by.fact.type];
    if (handler === undefined || handler === 'ignored') return { by, row };
    for (const { next } of handler(by.fact.data)) row = next(row ?? undefined);
    return { by, row };
  });
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Explains each field of a record as it is shown: the last state that changed it, and what it was before; null before
 * the first event. `states` hold what is shown after each event; a record that is not there shows nothing.
 *
 * @example explain([{ by: 1, fields: { a: 1 } }, { by: 2, fields: { a: 2 } }]).a // { value: 2, by: 2, was: 1 }
 */
export function explain<Event>(
  states: readonly Readonly<{ by: Event; fields: Fields }>[],
): Readonly<Record<string, Explanation<Event>>> {
  const explained: Record<string, Explanation<Event>> = {};
  let before: Fields = {};
  for (const { by, fields } of states) {
    for (const [name, value] of Object.entries(fields))
      if (!(name in before) || !isSame(value, before[name])) explained[name] = { value, by, was: before[name] ?? null };
    before = fields;
  }
  return Object.fromEntries(Object.entries(explained).filter(([name]) => name in before));
}

/** Shown values are plain data whose parts come in one order. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
