/**
 * A host and a port as they stand in an address: an IPv6 host in brackets.
 *
 * @example hostPort('::1', 1317) // [::1]:1317
 */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
