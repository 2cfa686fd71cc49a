// @ts-check
/** @import { WithHeaders, ReadState } from './answers.d.ts' */
import { useLayoutEffect, useRef, useState } from '/assets/htm-preact.js';
import { againMs, longer } from './live-source.js';
import { useAdvances } from './live.js';
import { asOf } from './router.js';

/** Reading the API: answers are for the instant that the address names, or follow the read models as they advance. */

const mostRemembered = 200;

/**
 * Answers of instants in the past, which do not change while a page is open.
 *
 * @type {Map<string, Promise<WithHeaders<any>>>}
 */
const remembered = new Map();

/** A refusal of the API, with its words; of status 0 where nothing answered. */
export class Refused extends Error {
  /** @param {string} message @param {number} status @param {number} [code] What JSON-RPC refuses with. */
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** What is answered of now alone: each log has its last checkpoint. */
const ofNow = '/v1/logs';

/** Where an answer for the instant of the address lies. @param {string} path */
function addressOf(path) {
  const instant = asOf();
  if (instant === '' || !path.startsWith('/v1/') || path === ofNow || /[?&]as_of=/.test(path)) return path;
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
  const request = readNow(address);
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

/**
 * An answer, whatever its status; fails where there is none.
 *
 * @param {string} address
 * @param {RequestInit} [init]
 */
export async function responseOf(address, init) {
  return await fetch(address, init).catch(() => {
    throw new Refused('Annals does not answer.', 0);
  });
}

/**
 * What stands in for an answer that was refused; what fails for a moment fails here as well.
 *
 * @template T
 * @param {(error: any) => T} substitute
 * @returns {(error: unknown) => T}
 */
export function whereRefused(substitute) {
  return (error) => {
    if (isPassing(error)) throw error;
    return substitute(error);
  };
}

/** Whether what failed may be answered in a moment. @param {unknown} error */
export const isPassing = (error) => error instanceof Refused && (error.status === 0 || error.status >= 500);

/**
 * Reads JSON as it is now, whatever instant the page shows.
 *
 * @param {string} address
 * @returns {Promise<WithHeaders<any>>}
 */
export async function readNow(address) {
  const response = await responseOf(address, { headers: { accept: 'application/json' } });
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
 * instant is chosen it is read again as the read models advance, and of any instant while it fails for a moment.
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
  const latest = useRef(work);
  latest.current = work;
  const reader = useRef(/** @type {Reader | undefined} */ (undefined));
  // Before the browser paints, so that the request is on its way a frame earlier.
  useLayoutEffect(() => {
    if (key === null) return undefined;
    const started = (reader.current = startReader(() => latest.current(), setSeen));
    return () => {
      reader.current = undefined;
      started.stop();
    };
  }, [key]);
  useLayoutEffect(() => {
    if (advances > 0) reader.current?.refresh();
  }, [advances]);
  return seen;
}

/** @typedef {Readonly<{ refresh: () => void, stop: () => void }>} Reader */

/**
 * Reads at once, again while it fails for a moment, and at each `refresh`: that of one that is under way follows it, so
 * that answers which take longer than the read models stand still are shown as well.
 *
 * @template T
 * @param {() => Promise<WithHeaders<T>>} work
 * @param {(next: (before: ReadState<T>) => ReadState<T>) => void} show
 * @returns {Reader}
 */
function startReader(work, show) {
  let [isStopped, isReading, isDue] = [false, false, false];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const attempt = async (waitMs = againMs) => {
    clearTimeout(timer);
    [isReading, isDue] = [true, false];
    show((before) => ({ ...before, isLoading: true }));
    const next = await work().then(
      (answer) => ({ ...answer, isLoading: false }),
      (error) => {
        const again = isPassing(error) ? { againInMs: waitMs } : {};
        return { failure: error.message, status: error.status, ...again, isLoading: false };
      },
    );
    isReading = false;
    if (isStopped) return;
    show(() => next);
    if ('againInMs' in next) timer = setTimeout(() => void attempt(longer(waitMs)), waitMs);
    else if (isDue) void attempt();
  };
  void attempt();
  return {
    refresh: () => {
      if (isReading) isDue = true;
      else void attempt();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
