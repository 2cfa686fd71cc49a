// @ts-check
/** Texts for people: shortened addresses, ages, numbers with separators. */

/**
 * Start and end of a long address, without the prefix that all of its kind have.
 *
 * @param {string | null | undefined} address
 */
export function short(address) {
  if (!address || address.length <= 22) return address ?? '–';
  const from = address.startsWith('0x') ? 0 : address.indexOf('1') + 1;
  return `${address.slice(from, from + (from === 0 ? 8 : 5))}…${address.slice(-5)}`;
}

/** Start of a hash. @param {string | null | undefined} hash */
export function start(hash) {
  return hash ? `${hash.slice(0, 10)}…` : '–';
}

/**
 * The time since a moment, in the largest unit that is useful.
 *
 * @param {string | null | undefined} time
 * @param {number} [now]
 */
export function age(time, now = Date.now()) {
  if (!time) return '–';
  const ms = now - Date.parse(time);
  return ms < -1000 ? `in ${duration(-ms)}` : `${duration(Math.max(0, ms))} ago`;
}

/** A duration in the largest unit that is useful. @param {number} ms */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** Made once: a page shows a hundred moments, and to make one of these takes longer than to show some. */
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** A moment for people, in UTC. @param {string | null | undefined} time */
export function moment(time) {
  if (!time) return '–';
  const at = new Date(time);
  return `${days.format(at)} ${at.toISOString().slice(11, 19)}`;
}

/**
 * A number with thin separators, or a dash while unknown.
 *
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 0) {
  return value === null || value === undefined ? '–' : value.toLocaleString('en', { maximumFractionDigits: digits });
}

/**
 * So many of a thing, such as `1 peer` and `2 peers`.
 *
 * @param {number | null | undefined} value
 * @param {string} noun
 */
export function counted(value, noun) {
  return `${number(value)} ${value === 1 ? noun : `${noun}s`}`;
}

/**
 * An amount in the smallest unit, as coins of 10^decimals.
 *
 * @param {bigint | string} amount
 * @param {number} decimals
 */
export function coins(amount, decimals) {
  const digits = String(BigInt(amount)).padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${BigInt(digits.slice(0, -decimals)).toLocaleString('en')}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Class of a state's colour. @param {string} state */
export function tone(state) {
  if (['approved', 'finalized', 'available', 'done', 'active', 'ready', 'up', 'live', 'sound'].includes(state))
    return 'good';
  if (['expired', 'unavailable', 'failed', 'rejected', 'penalized', 'not ready', 'down', 'stopped'].includes(state))
    return 'bad';
  return 'wait';
}

/** The name of an event's type, without what all of them have. @param {string} type */
export function typeName(type) {
  return type.replace(/^annals\.|\.v\d+$/g, '');
}

/** @type {Record<string, (data: any) => string>} */
const gists = {
  ActionRegistered: ({ kind, known }) => `${kind} by ${short(known.creator)}`,
  ActionFinalized: ({ accounts }) => `by ${accounts.map(short).join(', ')}`,
  ActionApproved: ({ known }) => `by its creator ${short(known.creator)}`,
  ActionExpired: ({ seenAtHeight }) => `seen at height ${seenAtHeight}`,
  ActionTransactionFound: ({ step, transaction }) => `${step} transaction at height ${transaction.height}`,
  SyncRequested: ({ source }) => `of ${source}`,
  SyncRoundCompleted: ({ facts, height }) => `${facts} ${facts === 1 ? 'fact' : 'facts'} at height ${height}`,
  SyncRoundFailed: ({ reason }) => reason,
  ProbeSucceeded: ({ tookMs, known }) => `${known.figures?.version ?? ''} answered in ${tookMs} ms`,
  ProbeFailed: ({ known, ports }) =>
    `${known.consecutiveFailures} in a row; ${
      ports
        .filter((/** @type {any} */ { outcome }) => outcome !== 'open')
        .map((/** @type {any} */ { port, outcome }) => `${port} ${outcome}`)
        .join(', ') || 'status'
    }`,
};

/** The content of an event, in a few words. @param {string} type @param {any} data */
export function gist(type, data) {
  const known = gists[type];
  if (known) return known(data);
  return data.record?.state ? `${data.record.state}, ${data.record.address}` : '';
}

/** The page of an event's entity, or undefined where there is none. @param {string} type @param {string} subject */
export function entityPath(type, subject) {
  const name = typeName(type);
  if (name.startsWith('Action')) return `/actions/${subject}`;
  return subject.includes('valoper1') ? `/nodes/${subject}` : undefined;
}
