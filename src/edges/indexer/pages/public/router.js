// @ts-check
import { useEffect, useState } from '/assets/htm-preact.js';

/** The address of the page that is shown; `as_of` in it is the instant that every page shows. */

const changed = new EventTarget();

/**
 * The parts of a path by a pattern such as `/actions/:id`, or undefined where it does not fit.
 *
 * @param {string} pattern
 * @param {string} path
 */
export function partsOf(pattern, path) {
  const wanted = pattern.split('/');
  const segments = path.replace(/(?<=.)\/$/, '').split('/');
  if (wanted.length !== segments.length) return undefined;
  /** @type {Record<string, string>} */
  const parts = {};
  for (const [at, name] of wanted.entries()) {
    const segment = segments[at] ?? '';
    const text = decoded(segment);
    if (name.startsWith(':') && text !== undefined) parts[name.slice(1)] = text;
    else if (name !== segment) return undefined;
  }
  return parts;
}

/** A segment of a path; undefined where its percent-encoding cannot be read. @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The instant that is shown, as the address has it; empty for now. */
export function asOf() {
  return new URLSearchParams(location.search).get('as_of') ?? '';
}

/**
 * The address of a page with the instant that is shown; values that are empty are left out.
 *
 * @param {string} path
 * @param {Record<string, string | undefined>} [query]
 */
export function link(path, query = {}) {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, as_of: query.as_of ?? asOf() }))
    if (value) values.set(name, value);
  const text = values.toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Shows another address; `replace` leaves no step in the browser's history.
 *
 * @param {string} href
 * @param {{ replace?: boolean }} [options]
 */
export function go(href, { replace = false } = {}) {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  changed.dispatchEvent(new Event('change'));
}

/** The address now; the component is shown again whenever it changes. */
export function useAddress() {
  const read = () => ({ path: location.pathname, search: location.search });
  const [address, setAddress] = useState(read);
  useEffect(() => {
    const update = () => setAddress(read());
    changed.addEventListener('change', update);
    window.addEventListener('popstate', update);
    return () => {
      changed.removeEventListener('change', update);
      window.removeEventListener('popstate', update);
    };
  }, []);
  return address;
}

/** Follows links to pages of ours without loading them anew. @param {(path: string) => boolean} isOurs */
export function followLinks(isOurs) {
  document.addEventListener('click', (event) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!anchor || !isPlain || event.defaultPrevented || anchor.target || anchor.origin !== location.origin) return;
    if (anchor.hash !== '' && anchor.pathname === location.pathname) return;
    if (!isOurs(anchor.pathname)) return;
    event.preventDefault();
    go(anchor.pathname + anchor.search);
    window.scrollTo(0, 0);
  });
}
