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
 * One observation is no evidence: after a break of the broker no gateway is announced for a moment.
 */
export function createAbsence(
  presence: Pick<Presence, 'present'>,
  { graceMs = usualGraceMs, clock = () => performance.now() } = {},
): Absence {
  let since = Infinity;
  const seenAt = new Map<string, number>();
  const isMissing = (name: string): boolean => {
    const now = clock();
    return now - since >= graceMs && now - (seenAt.get(name) ?? -Infinity) >= graceMs;
  };
  return {
    observe: async () => {
      try {
        const names = await presence.present();
        const now = clock();
        since = Math.min(since, now);
        for (const name of names) for (const one of [name, storeOf(name)]) seenAt.set(one, now);
      } catch (caught) {
        since = Infinity;
        throw caught;
      }
    },
    isGone: (holder = '') => isMissing(holder),
    isUnserved: isMissing,
  };
}

function storeOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'));
}
