import type { KnownSource } from './sources.ts';

/** Actions that may still expire, as the fact of a round carries them on. */
export type OpenActions = NonNullable<KnownSource['openActions']>;

/**
 * Characters of entries in one fact: 29,000 actions that follow no order, 87,000 to 131,000 as chains make them; a
 * quarter of a default message.
 */
const mostCharacters = 262_144;

/**
 * Open actions by id, with the time of their expiry (RFC 3339, UTC, to the second), in few characters: two to four for
 * each where ids and expiries follow one another.
 *
 * Those that expire first go first. The rest is left out, and the result holds the time from which on entries are
 * missing; `completeUntil` is the time from which on `open` itself lacks some.
 */
export function packOpen(
  open: ReadonlyMap<string, string>,
  { completeUntil, most = mostCharacters }: { completeUntil?: string | undefined; most?: number } = {},
): OpenActions {
  const sorted = [...open]
    .map(([action, expiresAt]) => ({ id: BigInt(action), seconds: Date.parse(expiresAt) / 1000, expiresAt }))
    .toSorted((a, b) => a.seconds - b.seconds || (a.id < b.id ? -1 : 1));
  const entries: string[] = [];
  let before = { id: 0n, seconds: 0 };
  let room = most;
  let until = completeUntil;
  for (const one of sorted) {
    const step = one.id - before.id;
    const entry = `${one.seconds - before.seconds}${step === 1n ? '' : `:${step}`}`;
    room -= entry.length + 1;
    if (room < 0) {
      until = until === undefined || one.expiresAt < until ? one.expiresAt : until;
      break;
    }
    entries.push(entry);
    before = one;
  }
  return { entries: entries.join(' '), ...(until === undefined ? {} : { completeUntil: until }) };
}

/** What `packOpen` has put in. */
export function unpackOpen({ entries }: OpenActions): Map<string, string> {
  const open = new Map<string, string>();
  let [id, seconds] = [0n, 0];
  for (const entry of entries === '' ? [] : entries.split(' ')) {
    const [later = '', greater = '1'] = entry.split(':');
    seconds += Number(later);
    id += BigInt(greater);
    open.set(String(id), new Date(seconds * 1000).toISOString().replace('.000Z', 'Z'));
  }
  return open;
}
