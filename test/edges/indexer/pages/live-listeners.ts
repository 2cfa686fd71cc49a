import { onTestFinished } from 'vitest';

type Receive = (json: string, name?: 'moved') => void;

const listeners = new Set<Receive>();

/** What pages subscribe to. */
export function subscribe(receive: Receive): () => void {
  listeners.add(receive);
  return () => void listeners.delete(receive);
}

/** Those that listen now. */
export const listening = (): ReadonlySet<Receive> => new Set(listeners);

/** Those who came since; those of pages that were closed go away when they like, so that a count would say nothing. */
export const newSince = (known: ReadonlySet<Receive>): Receive[] => [...listeners].filter((one) => !known.has(one));

/** Tells all that listen that the read models have advanced. */
export const tell = (): void => listeners.forEach((receive) => receive('{}', 'moved'));

/** Tells them until the test ends. */
export function tellAgainAndAgain(): void {
  const telling = setInterval(tell, 100);
  onTestFinished(() => clearInterval(telling));
}
