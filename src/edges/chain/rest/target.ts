import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { within } from '../../../kit/wait.ts';
import { hostOf } from '../../../projections/fleet/address.ts';

/** What may be dialled besides literal, public addresses. */
export type TargetOptions = Readonly<{ allowPrivate: boolean; allowHostNames: boolean }>;

/** Where a chain's address text leads to. The text of an `ip` is canonical, so it is never parsed by a resolver. */
export type Target =
  | Readonly<{ kind: 'ip'; ip: string }>
  | Readonly<{ kind: 'name'; name: string }>
  | Readonly<{ kind: 'refused'; reason: 'junk' | 'not_public' | 'host_name' | 'unresolved' }>;

const resolveMs = 2_000;
const privateRanges: readonly string[] = ['loopback', 'private', 'uniqueLocal'];
const globalUnicast6 = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * The last label starts with a letter: `127.1`, `0x7f.1` and `2130706433` are no names, though resolvers accept them.
 */
const hostName = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Decides, without any lookup, whether and what to dial for the address of a node on the chain.
 *
 * Only literal public unicast addresses pass; forms that embed another address (v4-mapped, 6to4, Teredo, NAT64) never
 * do.
 *
 * @example
 * targetOf('203.0.113.7:4444', { allowPrivate: false, allowHostNames: false })
 * // { kind: 'refused', reason: 'not_public' }
 */
export function targetOf(address: string, options: TargetOptions): Target {
  const host = hostOf(address);
  if (host === undefined) return { kind: 'refused', reason: 'junk' };
  if (isIP(host) !== 0) return literal(host, options);
  const name = host.toLowerCase().replace(/\.$/, '');
  if (!hostName.test(name)) return { kind: 'refused', reason: 'junk' };
  return options.allowHostNames ? { kind: 'name', name } : { kind: 'refused', reason: 'host_name' };
}

/** What addresses that lead to the same host have in common, however they are spelt. */
export function hostKey(address: string, options: TargetOptions): string {
  const target = targetOf(address, options);
  if (target.kind === 'refused') return hostOf(address)?.toLowerCase() ?? address;
  return target.kind === 'ip' ? target.ip : target.name;
}

/** Resolves a name once; the resulting address has to pass the same check as a literal one. */
export async function resolveTarget(
  target: Target,
  options: TargetOptions,
): Promise<Exclude<Target, { kind: 'name' }>> {
  if (target.kind !== 'name') return target;
  const result = await within(resolveMs, lookup(target.name), 'too slow').catch(() => undefined);
  return result ? literal(result.address, options) : { kind: 'refused', reason: 'unresolved' };
}

function literal(host: string, { allowPrivate }: TargetOptions): Exclude<Target, { kind: 'name' }> {
  const parsed = ipaddr.parse(host);
  const range: string = parsed.range();
  const isPublic = range === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast6));
  const isAllowed = isPublic || (allowPrivate && privateRanges.includes(range));
  return isAllowed ? { kind: 'ip', ip: parsed.toString() } : { kind: 'refused', reason: 'not_public' };
}
