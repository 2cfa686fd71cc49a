const bracketed = /^\[([0-9a-f:]*:[0-9a-f:.]*)\](?::\d{1,5})?$/i;
const bare6 = /^[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*$/i;
const name = /^([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?)(?::\d{1,5})?$/i;

/**
 * The host part of an address in the chain's form (`ip`, `ip:port`, `[v6]:port`, `v6`, `host`, `host:port`); undefined
 * for any other text.
 *
 * Does not check that the host is an address, or one that may be dialled.
 *
 * @example hostOf('203.0.113.7:4444') // '203.0.113.7'
 */
export function hostOf(address: string): string | undefined {
  if (address.length > 300) return undefined;
  return bracketed.exec(address)?.[1] ?? bare6.exec(address)?.[0] ?? name.exec(address)?.[1];
}

/**
 * The port that an address names, from 1 to 65535; undefined for one that names none.
 *
 * @example portOf('203.0.113.7:4445') // 4445
 */
export function portOf(address: string): number | undefined {
  if (hostOf(address) === undefined || bare6.test(address)) return undefined;
  const port = Number(/:(\d+)$/.exec(address)?.[1] ?? 0);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/**
 * What readers are shown as a node's `ip`: the host without its port; junk as it is (spec 2, `ip`).
 *
 * @example displayHost('[2001:db8::1]:4444') // '2001:db8::1'
 */
export function displayHost(address: string): string {
  return hostOf(address) ?? address;
}
