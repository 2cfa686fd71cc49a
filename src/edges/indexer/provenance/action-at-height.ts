import type { FactOf } from '../../../events/catalogue.ts';
import { AppError } from '../../../kit/errors.ts';
import { actions } from '../../../projections/actions/actions.ts';
import { factsUpTo } from '../../../projections/actions/at-height.ts';
import { ActionById } from '../../../projections/actions/queries.ts';
import { statesOf } from '../../../projections/explain.ts';
import type { ActionRow } from '../../../projections/tables.ts';
import type { RestDependencies } from '../rest/dependencies.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { clean, eventsUpTo, folded, positionIn } from './explained.ts';

type Sources = Pick<RestDependencies, 'events' | 'past' | 'reader'>;

/** An action as a snapshot has it, or as it was on the chain at a height; see `actionAtHeight`. */
export async function actionAt(
  sources: Sources,
  snapshot: ReadSnapshot,
  { id, height }: Readonly<{ id: string; height: number | undefined }>,
): Promise<ActionRow | undefined> {
  if (height === undefined) return await snapshot.ask(new ActionById({ id }));
  return await actionAtHeight(sources, snapshot, { id, height });
}

/**
 * An action as it was on the chain at a height, as far as the events tell that a snapshot knows; undefined where it was
 * not registered then.
 *
 * Fails with `BEYOND_HEAD` where the chain was not read up to that height, with `HEIGHT_UNKNOWN` where no event tells
 * whether a step was taken by then.
 */
async function actionAtHeight(
  sources: Sources,
  { reading, rounds }: Pick<ReadSnapshot, 'reading' | 'rounds'>,
  { id, height }: Readonly<{ id: string; height: number }>,
): Promise<ActionRow | undefined> {
  const readTo = rounds.find(({ source }) => source === 'actions')?.completed_height ?? 0;
  if (height > readTo)
    throw new AppError('BEYOND_HEAD', `at_height is ${height}; the chain was read up to height ${readTo}.`);
  const record = { of: 'actions', stream: 'ACTIONS', kind: 'action', id } as const;
  const events = await eventsUpTo(sources, record, positionIn(reading, 'actions'));
  const facts = factsUpTo(
    events.map(({ fact }) => fact as FactOf<'action'>),
    height,
  );
  if (facts === undefined)
    throw new AppError(
      'HEIGHT_UNKNOWN',
      'A step of this action is known without its transaction, so nothing tells whether it was taken by that height.',
    );
  const row = folded(() =>
    statesOf(
      actions,
      facts.map((fact) => ({ fact })),
    ),
  ).at(-1)?.row;
  return row ? clean(row) : undefined;
}
