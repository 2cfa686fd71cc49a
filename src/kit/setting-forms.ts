import ipaddr from 'ipaddr.js';
import parseDuration from 'parse-duration';

/** A text that a setting does not accept; the message names what it accepts. */
export class Unfit extends Error {}

/** Any text. */
export const text = (value: string): string => value;
/** Any text; the empty one is none. */
export const optional = (value: string): string | undefined => (value === '' ? undefined : value);

/** The name or address of a host; an IPv6 address may be written in brackets, which go. */
export const host = (value: string): string => value.replace(/^\[(.*)\]$/, '$1');

/** An integer within bounds, both included. */
export function complete(from: number, to: number): (value: string) => number {
  return (value) => {
    const n = Number(value);
    if (!/^\d+$/.test(value) || n < from || n > to) throw new Unfit(`a whole number from ${from} to ${to}`);
    return n;
  };
}
/** A port; 0 lets the system pick one. */
export const port = complete(0, 65_535);
/** A port, or none. */
export const optionalPort = (value: string): number | undefined => (value === '' ? undefined : port(value));

/** A duration written `500ms`, `30s`, `5m` or `1h`, in milliseconds. */
export function duration(value: string): number {
  const ms = /^\d+(\.\d+)?(ms|s|m|h)$/.test(value) ? parseDuration(value) : null;
  if (ms === null || ms < 100 || ms > 86_400_000)
    throw new Unfit('a duration from 100ms to 24h, written 500ms, 30s, 5m or 1h');
  return ms;
}

/** One of the listed words. */
export function oneOf<const T extends string>(...words: readonly T[]): (value: string) => T {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw new Unfit(`one of ${words.join(', ')}`);
    return word;
  };
}

/** An address of one of the protocols without a slash at its end, or none. */
export function url(...protocols: readonly string[]): (value: string) => string | undefined {
  return (value) => {
    if (value === '') return undefined;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Unfit(`an address that begins with ${protocols.join(' or ')}//`);
    return value.replace(/\/+$/, '');
  };
}

/** Addresses of some of the protocols separated by commas, or none. */
export function addresses(...protocols: readonly string[]): (value: string) => string | undefined {
  return (value) =>
    value === ''
      ? undefined
      : value
          .split(',')
          .map((one) => url(...protocols)(one.trim()))
          .join(',');
}

const unitBytes = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;
const fewestBytes = 2 ** 20;

/** A size in bytes, -1 for no limit at all, or none. */
export function size(value: string): number | undefined {
  if (value === '') return undefined;
  if (value === 'unlimited') return -1;
  const bytes = bytesIn(value);
  if (bytes === undefined || bytes < fewestBytes)
    throw new Unfit('a size from 1MiB on, written 500MiB, 20GiB or 1TiB, or unlimited');
  return bytes;
}

/** Largest size of one file, which nothing raises. */
const mostFileBytes = 2 ** 30;

/** A size of one file in bytes, at most 1 GiB, which is what none means too. */
export function fileSize(value: string): number {
  const bytes = size(value) ?? mostFileBytes;
  if (bytes < 0 || bytes > mostFileBytes) throw new Unfit('a size from 1MiB to 1GiB');
  return bytes;
}

/** Bytes a second, at least 1 KiB. */
export function byteRate(value: string): number {
  const bytes = bytesIn(value);
  if (bytes === undefined || bytes === 0) throw new Unfit('a size from 1KiB on, written 16KiB or 1MiB');
  return bytes;
}

function bytesIn(value: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})(KiB|MiB|GiB|TiB)$/.exec(value) ?? [];
  return unit === undefined ? undefined : Number(digits) * unitBytes[unit as keyof typeof unitBytes];
}

const windows = { s: 1, m: 60, h: 3600 } as const;

/** A number of requests in a second, a minute or an hour; undefined for no limit. */
export function requestRate(value: string): Readonly<{ quota: number; windowSeconds: number }> | undefined {
  if (value === 'off') return undefined;
  const [, digits, unit] = /^([1-9]\d{0,6})\/([smh])$/.exec(value) ?? [];
  if (unit === undefined) throw new Unfit('a number of requests such as 10/s, 600/m or 20000/h, or off');
  return { quota: Number(digits), windowSeconds: windows[unit as keyof typeof windows] };
}

/** First three numbers of loopback addresses. */
export function subnet(value: string): string {
  if (!/^127(\.(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){2}$/.test(value))
    throw new Unfit('three numbers of a loopback address, such as 127.0.1');
  return value;
}

/** Addresses and subnets, such as `10.0.0.1` and `10.0.0.0/8`, separated by commas; none where empty. */
export function subnets(value: string): readonly string[] {
  if (value === '') return [];
  return value.split(',').map((word) => {
    const one = word.trim();
    if (!ipaddr.isValid(one) && !ipaddr.isValidCIDR(one))
      throw new Unfit('addresses and subnets such as 10.0.0.1 or 10.0.0.0/8, separated by commas');
    return one;
  });
}

/** Web origins such as `https://wallet.example.org`, or `*` for all. */
export type Origins = readonly string[] | '*';

/** Web origins, separated by commas, or `*`. */
export const origins = (value: string): Origins =>
  value === '*' ? '*' : value.split(',').map((origin) => origin.trim());
