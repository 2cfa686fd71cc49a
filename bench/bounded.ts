import { once } from './context.ts';
import type { Row } from './row.ts';

/** What one measurement of several figures gave, with a word on what was measured. */
export type Measured<Name extends string> = Readonly<{ figures: Readonly<Record<Name, number>>; note: string }>;

/**
 * Rows of one measurement, made once, without a peer: each of its figures with its unit and what it may be at most.
 *
 * @example bounded('many-files', () => measure(context), { start: ['ms', 3_000], idle: ['% of a core', 2] })
 */
export function bounded<Name extends string>(
  prefix: string,
  measure: () => Promise<Measured<Name>>,
  most: Readonly<Record<Name, readonly [unit: string, most: number]>>,
): readonly Row[] {
  const measured = once(measure);
  return Object.entries<readonly [string, number]>(most).map(([name, [unit, ours]]) => ({
    name: `${prefix}-${name}`,
    unit,
    better: 'lower',
    peerName: null,
    target: { ours },
    measure: async () => {
      const { figures, note } = await measured();
      return { ours: (figures as Readonly<Record<string, number>>)[name] ?? Number.NaN, peer: null, ratio: null, note };
    },
  }));
}
