import ipaddr from 'ipaddr.js';

/**
 * A host and a port joined as in an address: an IPv6 host in brackets.
 *
 * @example hostPort('::1', 1317) // [::1]:1317
 */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * What counts as one caller where callers are bounded: an IPv4 address, however it is written, or the first 64 bits of
 * an IPv6 address, all of which one person has.
 *
 * @example callerOf('::ffff:192.0.2.1') // 192.0.2.1
 */
export function callerOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (!('parts' in address)) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** Named addresses, one a line, for people. */
export function addressList(urls: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(urls).map((name) => name.length));
  return Object.entries(urls)
    .map(([name, url]) => `  ${name.padEnd(width)}  ${url}`)
    .join('\n');
}
