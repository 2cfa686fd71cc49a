/** Texts for people: shortened addresses, ages, numbers with separators. */

/** Start and end of a long address, without the prefix that all of its kind have. */
export function short(address) {
  return address && address.length > 22
    ? `${address.slice(address.indexOf('1') + 1, address.indexOf('1') + 6)}…${address.slice(-5)}`
    : (address ?? '–');
}

/** The time since a moment, in the largest unit that is useful. */
export function age(time, now = Date.now()) {
  if (!time) return '–';
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** A number with thin separators, or a dash while unknown. */
export function number(value, digits = 0) {
  return value === null || value === undefined ? '–' : value.toLocaleString('en', { maximumFractionDigits: digits });
}

/** Class of a state's colour. */
export function tone(state) {
  if (['approved', 'finalized', 'available', 'done', 'active', 'ready'].includes(state)) return 'good';
  if (['expired', 'unavailable', 'failed', 'rejected', 'penalized', 'not ready'].includes(state)) return 'bad';
  return 'wait';
}

const gists = {
  ActionRegistered: ({ kind, known }) => `${kind} by ${short(known.creator)}`,
  ActionFinalized: ({ accounts }) => `by ${accounts.map(short).join(', ')}`,
  ActionApproved: ({ known }) => `by its creator ${short(known.creator)}`,
  ActionExpired: ({ seenAtHeight }) => `seen at height ${seenAtHeight}`,
  ActionTransactionFound: ({ step, transaction }) => `${step} transaction at height ${transaction.height}`,
  ProbeSucceeded: ({ tookMs, known }) => `${known.figures?.version ?? ''} answered in ${tookMs} ms`,
  ProbeFailed: ({ known, ports }) =>
    `${known.consecutiveFailures} in a row; ${
      ports
        .filter(({ outcome }) => outcome !== 'open')
        .map(({ port, outcome }) => `${port} ${outcome}`)
        .join(', ') || 'status'
    }`,
};

/** The content of an event, in a few words. */
export function gist(type, data) {
  const known = gists[type];
  if (known) return known(data);
  return data.record?.state ? `${data.record.state}, ${data.record.address}` : '';
}
