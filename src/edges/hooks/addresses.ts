import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { AppError } from '../../kit/errors.ts';
import { within } from '../../kit/wait.ts';
import { targetOf } from '../chain/rest/target.ts';

/** Whether loopback and private addresses may be sent to, as for probes. */
export type AddressRules = Readonly<{ allowPrivate: boolean }>;

const mostCharacters = 2048;
const resolveMs = 5_000;
const lookupAll = promisify(lookup);

/** A host none of whose addresses may be dialled. */
class NotPublic extends Error {
  constructor(host: string) {
    super(`${host} is not at a public address`);
    this.name = 'NotPublic';
  }
}

/**
 * Checks an address before it is registered, its host names looked up; every connection checks again.
 *
 * Fails with `INVALID_ARGUMENT`: only http and https to public unicast addresses, without a user in it.
 */
export async function checkAddress(text: string, rules: AddressRules): Promise<void> {
  const refuse = (why: string): never => {
    throw new AppError('INVALID_ARGUMENT', `url ${why}`);
  };
  if (text.length > mostCharacters) refuse(`may have ${mostCharacters} characters.`);
  if (!URL.canParse(text)) refuse('is no address such as https://example.org/events.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') refuse('takes https:// or http://.');
  if (url.username !== '' || url.password !== '') refuse('takes no user and password; put a token into its path.');
  const host = hostIn(url);
  const answers =
    isIP(host) === 0
      ? await within(resolveMs, lookupAll(host, { all: true }), 'too slow').catch(() => [])
      : [{ address: host }];
  if (answers.length === 0) refuse(`names ${host}, which cannot be resolved; try again once it can.`);
  if (!answers.some(({ address }) => isAllowed(address, rules)))
    refuse(
      `leads to ${host}, which is not at a public address; such are refused unless PROBE_PRIVATE_ADDRESSES=allow.`,
    );
}

/** Fails where an address is a literal one that may not be dialled; names are checked by `guardedLookup`. */
export function checkLiteral(url: URL, rules: AddressRules): void {
  const host = hostIn(url);
  if (isIP(host) !== 0 && !isAllowed(host, rules)) throw new NotPublic(host);
}

/**
 * Looks a name up for the connection that is made to it, and returns only addresses that may be dialled: what a name
 * led to before does not count, so no answer of a name server can lead elsewhere afterwards.
 */
export function guardedLookup(rules: AddressRules): LookupFunction {
  return (name, options, callback) => {
    lookup(name, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const allowed = addresses.filter(({ address }) => isAllowed(address, rules));
      const [first] = allowed;
      if (!first) return callback(new NotPublic(name), '', 0);
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

function isAllowed(ip: string, { allowPrivate }: AddressRules): boolean {
  const address = isIP(ip) === 6 ? `[${ip}]` : ip;
  return targetOf(address, { allowPrivate, allowHostNames: false }).kind === 'ip';
}

function hostIn({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
