// @ts-check
/** @import { LoggedEvent } from './answers.d.ts' */
import { followLive } from '/assets/live-source.js';

/** Follows the live events for all pages of a browser: it lasts for as long as one of them is open. */
const channel = new BroadcastChannel('live');
/** @param {{ event?: LoggedEvent }} message */
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
const tell = (message) => channel.postMessage(message);
followLive({ onEvent: (event) => tell({ event }), onMoved: () => tell({}) });
