import type { ProjectionName } from '../../../projections/projection.ts';
import type { Followed, Reading } from '../../../projections/reading.ts';

type Positioned = Pick<Reading, 'schemas' | 'followed'>;

/** What is made of the positions of some projections. */
export type OfPositions = (reading: Positioned, projections: readonly ProjectionName[]) => string;

/**
 * Makes a text of positions once, as long as none moves: readings have the same object for a position, and for the
 * tables that it is of, until one does.
 *
 * The list of projections that a route reads is the key: it has to be the same object each time to gain from it.
 */
export function lastOfScope(make: OfPositions): OfPositions {
  const last = new WeakMap<readonly ProjectionName[], Readonly<{ followed: readonly Followed[]; text: string }>>();
  return (reading, projections) => {
    const followed = projections.map((name) => reading.followed[name]);
    const known = last.get(projections);
    if (known && followed.every((one, at) => one === known.followed[at])) return known.text;
    const text = make(reading, projections);
    last.set(projections, { followed, text });
    return text;
  };
}
