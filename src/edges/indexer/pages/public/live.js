// @ts-check
/** @import { LoggedEvent } from './answers.d.ts' */
import { useEffect, useState } from '/assets/htm-preact.js';
import { followLive } from './live-source.js';

/** The live events, and hints that the read models have advanced: one connection for all pages of a browser. */

/** A busy read model advances many times a second; a page reads again at most this often. */
const advancedMs = 1000;

/** @type {Set<(event: LoggedEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const waiting = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let due;
let isConnected = false;

const onMoved = () => {
  due ??= setTimeout(() => {
    due = undefined;
    waiting.forEach((notify) => notify());
  }, advancedMs);
};
/** @param {LoggedEvent} event */
const onEvent = (event) => listeners.forEach((receive) => receive(event));

/**
 * Connects with the first listener.
 *
 * A browser opens six connections to a host: were each of its pages to have one for itself, the seventh would load
 * nothing. Where there are no shared workers, as on some telephones, a page has one for itself.
 */
function connect() {
  if (isConnected) return;
  isConnected = true;
  const alone = () => followLive({ onEvent, onMoved });
  if (typeof SharedWorker === 'undefined') return alone();
  new BroadcastChannel('live').addEventListener('message', ({ data: { event } }) =>
    event ? onEvent(event) : onMoved(),
  );
  new SharedWorker('/assets/live-worker.js', { type: 'module' }).addEventListener('error', alone, { once: true });
}

/** How often a read model has advanced since the component is shown. @param {boolean} isFollowing */
export function useAdvances(isFollowing) {
  const [advances, setAdvances] = useState(0);
  useEffect(() => {
    if (!isFollowing) return undefined;
    const notify = () => setAdvances((before) => before + 1);
    waiting.add(notify);
    connect();
    return () => void waiting.delete(notify);
  }, [isFollowing]);
  return advances;
}

/** The latest live events, the newest first. @param {number} most */
export function useLiveEvents(most) {
  const [events, setEvents] = useState(/** @type {LoggedEvent[]} */ ([]));
  useEffect(() => {
    /** @param {LoggedEvent} event */
    const receive = (event) => setEvents((before) => [event, ...before].slice(0, most));
    listeners.add(receive);
    connect();
    return () => void listeners.delete(receive);
  }, []);
  return events;
}
