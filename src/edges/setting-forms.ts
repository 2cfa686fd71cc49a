import parseDuration from 'parse-duration';
import { type Network, parseNetwork } from '../events/ids.ts';

/** A text that a setting does not take; the message says what it takes. */
export class Unfit extends Error {}

/** Any text. */
export const text = (value: string): string => value;
/** Any text; the empty one is none. */
export const optional = (value: string): string | undefined => (value === '' ? undefined : value);

/** A whole number within bounds, both included. */
export function whole(from: number, to: number): (value: string) => number {
  return (value) => {
    const n = Number(value);
    if (!/^\d+$/.test(value) || n < from || n > to) throw new Unfit(`a whole number from ${from} to ${to}`);
    return n;
  };
}
/** A port; 0 lets the system pick one. */
export const port = whole(0, 65_535);
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

/** Addresses of NATS servers separated by commas, or none. */
export function natsAddresses(value: string): string | undefined {
  return value === ''
    ? undefined
    : value
        .split(',')
        .map((one) => url('nats:', 'tls:', 'ws:', 'wss:')(one.trim()))
        .join(',');
}

/** First three numbers of loopback addresses. */
export function subnet(value: string): string {
  if (!/^127(\.(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){2}$/.test(value))
    throw new Unfit('three numbers of a loopback address, such as 127.0.1');
  return value;
}

/** The name of a network. */
export function network(value: string): Network {
  const name = parseNetwork(value);
  if (name === undefined) throw new Unfit('lower-case letters, digits and _, a letter first, at most 31 characters');
  return name;
}
