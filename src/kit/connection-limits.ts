import type { Server, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { callerOf } from './net-address.ts';

/** How many connections a server keeps open. */
export type ConnectionLimits = Readonly<{
  most: number;
  mostPerAddress: number;
  /** Addresses and subnets of proxies, which represent many callers and are bounded by `most` alone. */
  trustedProxies: readonly string[];
}>;

/** Bounds the connections of a server, in all and of one caller: those beyond are closed at once. */
export function limitConnections(server: Server, { most, mostPerAddress, trustedProxies }: ConnectionLimits): void {
  const open = new Map<string, number>();
  server.maxConnections = most;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (isOneOf(remoteAddress, trustedProxies)) return;
    const caller = callerOf(remoteAddress);
    const now = (open.get(caller) ?? 0) + 1;
    if (now > mostPerAddress) return void socket.destroy();
    open.set(caller, now);
    socket.once('close', () => {
      const left = (open.get(caller) ?? 1) - 1;
      if (left > 0) open.set(caller, left);
      else open.delete(caller);
    });
  });
}

/** Whether an address is one of some, or lies in a subnet among them. */
export function isOneOf(ip: string, ranges: readonly string[]): boolean {
  return ranges.some((range) => isWithin(ip, range));
}

function isWithin(ip: string, range: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  if (!range.includes('/')) return ipaddr.process(range).toString() === address.toString();
  const [net, bits] = ipaddr.parseCIDR(range);
  return net.kind() === address.kind() && address.match([net, bits]);
}
