// @ts-check
/** @import { LoggedEvent } from './answers.d.ts' */
import { useEffect, useState } from '/assets/htm-preact.js';

/** The live events, and hints that the read models have advanced: one connection for all of a page. */

/** A busy read model advances many times a second; a page reads again at most this often. */
const advancedMs = 1000;
/** What failed for a moment is tried again after one second, then later and later. */
export const againMs = 1000;
const longestAgainMs = 30_000;

/** The next wait after one in vain. @param {number} waitMs */
export const longer = (waitMs) => Math.min(waitMs * 2, longestAgainMs);

/**
 * Opened with its first listener.
 *
 * @type {EventSource | undefined}
 */
let source;
/** @type {Set<(event: LoggedEvent) => void>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const waiting = new Set();

function connect() {
  if (source) return;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  const advance = () => {
    due = undefined;
    waiting.forEach((notify) => notify());
  };
  const onMoved = () => void (due ??= setTimeout(advance, advancedMs));
  let wasLost = false;
  let waitMs = againMs;
  const open = () => {
    const opened = (source = new EventSource('/live'));
    opened.addEventListener('moved', onMoved);
    opened.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data);
      listeners.forEach((receive) => receive(event));
    });
    opened.addEventListener('open', () => {
      // What advanced while there was no connection has passed by.
      if (wasLost) onMoved();
      [wasLost, waitMs] = [false, againMs];
    });
    opened.addEventListener('error', () => {
      wasLost = true;
      // A browser comes back by itself after a connection that broke, and never after a refusal.
      if (opened.readyState !== EventSource.CLOSED) return;
      setTimeout(open, waitMs);
      waitMs = longer(waitMs);
    });
  };
  open();
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
