import type { Presence } from '../../../engine/log/presence.ts';

/** Which gateways are gone, and which stores no gateway serves. */
export type Absence = Readonly<{
  /** Reads which gateways are present; where that fails, earlier observations count no longer. */
  observe: () => Promise<void>;
  /** Returns whether a gateway process is gone; also for tasks that name none. */
  isGone: (holder: string | undefined) => boolean;
  /** Returns whether no gateway serves a store of bytes. */
  isUnserved: (store: string) => boolean;
}>;

/** A gateway that the broker's own break has cost its lease has announced itself anew by then. */
const usualGraceMs = 2_500;

/**
 * Considers a gateway gone once it was missing in all observations for a while, and all of them succeeded.
 *
 * Only observations count, never the time since the last one: one that comes late on a busy machine says nothing.
 * Each is of the names that were judged since the one before, so a gateway that has just begun is not missed in
 * observations of before. One is no evidence: after a break of the broker no gateway is announced for a moment.
 */
export function createAbsence(
  presence: Pick<Presence, 'present'>,
  { graceMs = usualGraceMs, clock = () => performance.now() } = {},
): Absence {
  let named = new Set<string>();
  let missingFrom: ReadonlyMap<string, number> = new Map();
  let observedAt = -Infinity;
  const isMissing = (name: string): boolean => {
    named.add(name);
    const from = missingFrom.get(name);
    return from !== undefined && observedAt - from >= graceMs;
  };
  return {
    observe: async () => {
      const of = named;
      named = new Set();
      try {
        const names = await presence.present();
        const present = new Set([...names].flatMap((name) => [name, storeOf(name)]));
        observedAt = clock();
        const missing = [...of].filter((name) => !present.has(name));
        missingFrom = new Map(missing.map((name) => [name, missingFrom.get(name) ?? observedAt]));
      } catch (caught) {
        missingFrom = new Map();
        throw caught;
      }
    },
    isGone: (holder = '') => {
      named.add(storeOf(holder));
      return isMissing(holder);
    },
    isUnserved: isMissing,
  };
}

function storeOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('.')));
}
