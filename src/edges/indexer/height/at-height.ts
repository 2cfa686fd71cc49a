import { Type } from 'typebox';
import type { Source } from '../../../events/words.ts';
import { AppError } from '../../../kit/errors.ts';
import { optional } from '../../http/schema.ts';
import type { ReadSnapshot } from '../rest/reads.ts';

const bounds = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const common =
  '400 `BEYOND_HEAD` where the chain was not read that far, 409 `HEIGHT_UNKNOWN` where its records do not tell.';

/** The parameter of a height at which a list or a figure is shown. */
export const atHeight = optional(
  Type.Integer({
    ...bounds,
    description: `Answer what was so on the chain at this height, as far as it is known: ${common}`,
  }),
);

/** The parameter of a height at which one action is shown. */
export const recordAtHeight = optional(
  Type.Integer({
    ...bounds,
    description: `Answer what was so on the chain at this height, as far as it is known: 404 where it was not registered then, ${common} Not with \`explain\` or \`diff\`.`,
  }),
);

/** Fails with `BEYOND_HEAD` where a source of the chain was not read up to a height. */
export function requireRead(
  { rounds }: Pick<ReadSnapshot, 'rounds'>,
  sources: readonly Source[],
  height: number,
): void {
  const heights = sources.map((source) => rounds.find((one) => one.source === source)?.completed_height ?? 0);
  const readTo = Math.min(...heights);
  if (height > readTo)
    throw new AppError('BEYOND_HEAD', `at_height is ${height}; the chain was read up to height ${readTo}.`);
}

/** Fails with `HEIGHT_UNKNOWN` where the answer depends on actions of which the log does not tell enough. */
export function requireClear(unclear: number): void {
  if (unclear > 0)
    throw new AppError(
      'HEIGHT_UNKNOWN',
      `A step of ${unclear} of the actions is known without its transaction, so nothing tells whether they count at that height.`,
    );
}
