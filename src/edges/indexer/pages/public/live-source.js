// @ts-check
/** @import { LoggedEvent } from './answers.d.ts' */

/** What failed for a moment is tried again after one second, then later and later. */
export const againMs = 1000;
const longestAgainMs = 30_000;

/** The next wait after one in vain. @param {number} waitMs */
export const longer = (waitMs) => Math.min(waitMs * 2, longestAgainMs);

/**
 * Follows the live events, and hints that the read models have advanced, for as long as its page or worker lasts.
 *
 * @param {{ onEvent: (event: LoggedEvent) => void, onMoved: () => void }} receivers
 */
export function followLive({ onEvent, onMoved }) {
  let wasLost = false;
  let waitMs = againMs;
  const open = () => {
    const opened = new EventSource('/live');
    opened.addEventListener('moved', onMoved);
    opened.addEventListener('message', ({ data }) => onEvent(JSON.parse(data)));
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
