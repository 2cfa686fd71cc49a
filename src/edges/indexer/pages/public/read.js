// @ts-check
/** @import { WithHeaders, LoggedEvent, ReadState } from './answers.d.ts' */
import { useEffect, useState } from '/assets/htm-preact.js';
import { asOf } from './router.js';

/** Reading the API: answers are for the instant that the address names, or follow the read models as they advance. */

/** A busy read model advances many times a second; a page reads again at most this often. */
const advancedMs = 1000;
const mostRemembered = 200;

/**
 * Answers of instants in the past, which do not change while a page is open.
 *
 * @type {Map<string, Promise<WithHeaders<any>>>}
 */
const remembered = new Map();

/** A refusal of the API, with its words. */
export class Refused extends Error {
  /** @param {string} message @param {number} status @param {number} [code] What JSON-RPC refuses with. */
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Where an answer for the instant of the address lies. @param {string} path */
function addressOf(path) {
  const instant = asOf();
  if (instant === '' || !path.startsWith('/v1/') || /[?&]as_of=/.test(path)) return path;
  return `${path}${path.includes('?') ? '&' : '?'}as_of=${encodeURIComponent(instant)}`;
}

/**
 * Reads JSON; fails with the words of a refusal.
 *
 * @template T
 * @param {string} path
 * @returns {Promise<WithHeaders<T>>}
 */
export async function read(path) {
  const address = addressOf(path);
  const before = remembered.get(address);
  if (before) return await before;
  const request = fetchJson(address);
  if (address.includes('as_of=')) remember(address, request);
  return await request;
}

/** @param {string} address @param {Promise<WithHeaders<any>>} request */
function remember(address, request) {
  remembered.set(address, request);
  request.catch(() => remembered.delete(address));
  const [oldest] = remembered.keys();
  if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest);
}

/** @param {string} address */
async function fetchJson(address) {
  const answer = await readNow(address);
  if (address.includes('as_of=') && !answer.headers.has('annals-as-of')) noteOfNow();
  return answer;
}

/** Whether an answer was of now although another instant was requested. */
let isOfNow = false;
const noted = new EventTarget();

function noteOfNow() {
  isOfNow = true;
  noted.dispatchEvent(new Event('change'));
}

/** Whether an answer of this instance was of now although another instant was requested. */
export function useOfNow() {
  const [seen, setSeen] = useState(isOfNow);
  useEffect(() => {
    const update = () => setSeen(isOfNow);
    noted.addEventListener('change', update);
    return () => noted.removeEventListener('change', update);
  }, []);
  return seen;
}

/**
 * Reads JSON as it is now, whatever instant the page shows.
 *
 * @param {string} address
 * @returns {Promise<WithHeaders<any>>}
 */
export async function readNow(address) {
  const response = await fetch(address, { headers: { accept: 'application/json' } });
  const text = await response.text();
  const body = text === '' ? null : parsed(text);
  if (!response.ok) throw new Refused(refusalIn(body) ?? `${address} answers ${response.status}`, response.status);
  if (body?.error?.message) throw new Refused(body.error.message, 200, body.error.code);
  return { body, headers: response.headers };
}

/** The words of a refusal; those of `/readyz` are its reasons. @param {any} body @returns {string | undefined} */
function refusalIn(body) {
  const reasons = /** @type {{ component: string, message: string }[]} */ (body?.reasons ?? []);
  return body?.error ?? (reasons.map(({ component, message }) => `${component}: ${message}`).join('; ') || undefined);
}

/** JSON, or the text where it is none. @param {string} text */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The result of a method of the EVM. @param {string} method @param {...unknown} params @returns {Promise<any>} */
export async function evm(method, ...params) {
  return /** @type {any} */ ((await read(evmPath(method, ...params))).body).result;
}

/** The address of a method's answer. @param {string} method @param {...unknown} params */
export function evmPath(method, ...params) {
  return `/evm.json?method=${method}&params=${encodeURIComponent(JSON.stringify(params))}`;
}

/**
 * What is known of an answer; the last one stays while the next is on its way. `path` null reads nothing. Where no
 * instant is chosen it is read again as the read models advance.
 *
 * @template T
 * @param {string | null} path
 * @param {{ follow?: boolean }} [options]
 * @returns {ReadState<T>}
 */
export function useRead(path, { follow = false } = {}) {
  return useAnswer(
    path === null ? null : addressOf(path),
    () => /** @type {Promise<WithHeaders<T>>} */ (read(path ?? '')),
    {
      follow,
    },
  );
}

/**
 * The same of anything that is read; `key` names what is read.
 *
 * @template T
 * @param {string | null} key
 * @param {() => Promise<WithHeaders<T>>} work
 * @param {{ follow?: boolean }} [options]
 * @returns {ReadState<T>}
 */
export function useAnswer(key, work, { follow = false } = {}) {
  const advances = useAdvances(follow && asOf() === '');
  const [seen, setSeen] = useState(/** @type {ReadState<T>} */ ({ isLoading: true }));
  useEffect(() => {
    if (key === null) return undefined;
    let isCurrent = true;
    setSeen((before) => ({ ...before, isLoading: true }));
    work().then(
      (answer) => isCurrent && setSeen({ ...answer, isLoading: false }),
      (error) => isCurrent && setSeen({ failure: error.message, status: error.status, isLoading: false }),
    );
    return () => void (isCurrent = false);
  }, [key, advances]);
  return seen;
}

/**
 * One connection to the live events for all of a page, opened with its first listener.
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
  source = new EventSource('/live');
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  const advance = () => {
    due = undefined;
    waiting.forEach((notify) => notify());
  };
  source.addEventListener('moved', () => void (due ??= setTimeout(advance, advancedMs)));
  source.addEventListener('message', ({ data }) => {
    const event = JSON.parse(data);
    listeners.forEach((receive) => receive(event));
  });
}

/** How often a read model has advanced since the component is shown. @param {boolean} isFollowing */
function useAdvances(isFollowing) {
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
