// @ts-check
/** @import { LoggedEvent, ReadState } from './answers.d.ts' */
import { html, useEffect, useRef, useState } from '/assets/htm-preact.js';
import { age, moment } from './format.js';
import { useRead } from './read.js';
import { asOf, go, useAddress } from './router.js';

/**
 * The slider in the header of every page: it sets the instant that all answers are of. Its scale is finer towards now;
 * on the page of an entity the keys step from event to event.
 */

const steps = 1000;
/** So that the recent past takes most of the slider. */
const bend = 3;

/**
 * An event of the entity: when it was written, and the instant right after it.
 *
 * @typedef {{ at: string, as_of: string }} Step
 */

/** Events of the entity that is shown, the oldest first. @type {readonly Step[]} */
let instants = [];
const changed = new EventTarget();

/** Lets the slider step by the events of an entity while a component is shown. @param {readonly Step[]} events */
export function useInstants(events) {
  const text = JSON.stringify(events);
  useEffect(() => {
    instants = JSON.parse(text);
    changed.dispatchEvent(new Event('change'));
    return () => {
      instants = [];
      changed.dispatchEvent(new Event('change'));
    };
  }, [text]);
}

/** The address of the page that is shown, as of an instant; empty for now. @param {string} instant */
export function atInstant(instant) {
  const query = new URLSearchParams(location.search);
  if (instant === '') query.delete('as_of');
  else query.set('as_of', instant);
  const text = query.toString();
  return text === '' ? location.pathname : `${location.pathname}?${text}`;
}

/** @param {number} from @param {number} now @param {number} value */
const instantAt = (from, now, value) => now - (now - from) * (1 - value / steps) ** bend;
/** @param {number} from @param {number} now @param {number} at */
const valueAt = (from, now, at) =>
  Math.round(steps * (1 - Math.max(0, (now - at) / Math.max(1, now - from)) ** (1 / bend)));

/** When the instant of the address was; NaN for one that only the API knows. @param {string} chosen */
function timeOf(chosen) {
  const known = instants.find((one) => one.as_of === chosen)?.at;
  // Browsers read a date out of almost anything, even of `ACTIONS:6`.
  return known !== undefined || /^\d{4}-\d\d-\d\dT/i.test(chosen) ? Date.parse(known ?? chosen) : NaN;
}

/**
 * The instant of the entity's next event before or after one; empty for now.
 *
 * @param {string} from
 * @param {-1 | 1} direction
 */
function neighbour(from, direction) {
  const known = instants.findIndex((one) => one.as_of === from);
  const at = from === '' ? Infinity : timeOf(from);
  const before = known >= 0 ? known - 1 : instants.findLastIndex((one) => Date.parse(one.at) <= at);
  const after = known >= 0 ? known + 1 : instants.findIndex((one) => Date.parse(one.at) > at);
  if (direction < 0) return instants[before]?.as_of;
  return after < 0 ? '' : (instants[after]?.as_of ?? '');
}

/** Shows another instant of the page; undefined changes nothing. @param {string | undefined} instant */
function choose(instant) {
  if (instant !== undefined && instant !== asOf()) go(atInstant(instant), { replace: true });
}

/** Pages that show the log and other interfaces as they are. @param {string} path */
const isTimeless = (path) => /^\/(log|models|chain|transfers|verify|search)\b/.test(path);

/** Shown again whenever the entity's instants change. */
function useChanges() {
  const [, update] = useState(0);
  useEffect(() => {
    const onChange = () => update((before) => before + 1);
    changed.addEventListener('change', onChange);
    return () => changed.removeEventListener('change', onChange);
  }, []);
}

/** The keys step from event to event where there are some. @param {KeyboardEvent} event */
function step(event) {
  const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  if (direction === undefined || instants.length === 0) return;
  event.preventDefault();
  choose(neighbour(asOf(), direction < 0 ? -1 : 1));
}

/**
 * A button that steps to an event of the entity.
 *
 * @param {{ label: string, mark: string, direction: -1 | 1 }} props
 */
function Step({ label, mark, direction }) {
  const isOff = instants.length === 0;
  const onClick = () => choose(neighbour(asOf(), direction));
  return html`<button class="plain" aria-label=${label} disabled=${isOff} onClick=${onClick}>${mark}</button>`;
}

/** @param {string} chosen @param {number} at */
function wordsOf(chosen, at) {
  if (Number.isNaN(at)) return `as of ${chosen}`;
  const time = new Date(at).toISOString();
  return `as of ${/^[A-Z]+:/i.test(chosen) ? `event ${chosen}, ` : ''}${moment(time)} UTC, ${age(time)}`;
}

/** The slider, with the instant in words and the path back to now. */
export function TimeSlider() {
  const { path } = useAddress();
  useChanges();
  // The first event, read from the log itself: at a first start it may be there before a checkpoint is signed over it.
  const isKnown = useRef(false);
  const first = /** @type {ReadState<LoggedEvent | null>} */ (
    useRead('/log/ACTIONS/events?limit=1', { follow: !isKnown.current })
  );
  isKnown.current ||= Boolean(first.body);
  // The scale stands still while the past is shown: a place on it is the same instant whenever the hand comes back.
  const scale = useRef(0);
  const chosen = asOf();
  const from = Math.min(Date.parse(first.body?.time ?? ''), ...instants.map((one) => Date.parse(one.at)));
  if (!Number.isFinite(from)) return null;
  if (chosen === '' || scale.current === 0) scale.current = Date.now();
  const now = scale.current;
  const at = chosen === '' ? now : timeOf(chosen);
  /** @param {InputEvent} event */
  const slide = (event) => {
    const value = Number(/** @type {HTMLInputElement} */ (event.target).value);
    choose(value >= steps ? '' : `${new Date(instantAt(from, now, value)).toISOString().slice(0, 19)}Z`);
  };
  const words = chosen === '' ? 'now' : wordsOf(chosen, at);
  return html`<div class=${`time ${chosen === '' ? '' : 'past'}`} role="group" aria-label="Time that is shown">
    <${Step} label="Event before" mark="◀" direction=${-1} />
    <input
      type="range"
      aria-label="Instant that is shown"
      aria-valuetext=${words}
      min="0"
      max=${steps}
      value=${Number.isNaN(at) ? steps : valueAt(from, now, at)}
      onInput=${slide}
      onKeyDown=${step}
    />
    <${Step} label="Event after" mark="▶" direction=${1} />
    <span class="words" role="status">${words}</span>
    ${chosen !== '' && isTimeless(path) ? html`<span class="wait" role="alert">▲ what is shown here is of now</span>` : ''}
    ${chosen === '' ? '' : html`<a href=${atInstant('')}>Back to now</a>`}
  </div>`;
}
