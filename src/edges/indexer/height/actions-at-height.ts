import type { FactOf } from '../../../events/catalogue.ts';
import { AppError } from '../../../kit/errors.ts';
import { createSlots } from '../../../kit/slots.ts';
import { actions } from '../../../projections/actions/actions.ts';
import { factsUpTo } from '../../../projections/actions/height/at-height.ts';
import { ActionById } from '../../../projections/actions/queries.ts';
import { statesOf } from '../../../projections/explain.ts';
import type { ActionRow } from '../../../projections/tables.ts';
import { clean, eventsUpTo, folded, positionIn } from '../provenance/explained.ts';
import type { RestDependencies } from '../rest/dependencies.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { requireRead } from './at-height.ts';

type Sources = Pick<RestDependencies, 'events' | 'past' | 'reader' | 'signal'>;

/** An action as a snapshot has it, or as it was on the chain at a height; see `actionAtHeight`. */
export async function actionAt(
  sources: Sources,
  snapshot: ReadSnapshot,
  { id, height }: Readonly<{ id: string; height: number | undefined }>,
): Promise<ActionRow | undefined> {
  if (height === undefined) return await snapshot.ask(new ActionById({ id }));
  requireRead(snapshot, ['actions'], height);
  return await actionAtHeight(sources, snapshot, { id, height });
}

/** Actions whose events one page reads at a time. */
const mostAtOnce = 16;

/** The rows of a page of actions as they were on the chain at a height, in the order of the ids. */
export async function actionsAtHeight(
  sources: Sources,
  snapshot: Pick<ReadSnapshot, 'reading'>,
  { ids, height }: Readonly<{ ids: readonly string[]; height: number }>,
): Promise<ActionRow[]> {
  const slots = createSlots(mostAtOnce, 'A read of events');
  const rows = await Promise.all(
    ids.map((id) => slots.run(() => actionAtHeight(sources, snapshot, { id, height }), sources.signal)),
  );
  return rows.filter((row) => row !== undefined);
}

/**
 * An action as it was on the chain at a height, as far as the events tell that a snapshot knows; undefined where it was
 * not registered then.
 *
 * Fails with `HEIGHT_UNKNOWN` where no event tells whether a step was taken by then.
 */
async function actionAtHeight(
  sources: Sources,
  { reading }: Pick<ReadSnapshot, 'reading'>,
  { id, height }: Readonly<{ id: string; height: number }>,
): Promise<ActionRow | undefined> {
  const record = { of: 'actions', stream: 'ACTIONS', kind: 'action', id } as const;
  const events = await eventsUpTo(sources, record, positionIn(reading, 'actions'));
  const facts = factsUpTo(
    events.map(({ fact }) => fact as FactOf<'action'>),
    height,
  );
  if (facts === undefined)
    throw new AppError(
      'HEIGHT_UNKNOWN',
      `A step of action ${id} is known without its transaction, so nothing tells whether it was taken by that height.`,
    );
  const row = folded(() =>
    statesOf(
      actions,
      facts.map((fact) => ({ fact })),
    ),
  ).at(-1)?.row;
  return row ? clean(row) : undefined;
}
