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

/** The connections that several servers keep open together. */
export type ConnectionBudget = { open: number; readonly most: number };

/** The share of a process's descriptors that connections of callers may take; files and stores have the others. */
const callersShare = 0.75;

let ofProcess: ConnectionBudget | undefined;

/**
 * Bounds the connections of a server, in all and of one caller, and those of all such servers of the process together:
 * those beyond are closed at once.
 */
export function limitConnections(
  server: Server,
  { most, mostPerAddress, trustedProxies }: ConnectionLimits,
  budget: ConnectionBudget = (ofProcess ??= { open: 0, most: callersShare * descriptors() }),
): void {
  const open = new Map<string, number>();
  server.maxConnections = most;
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    const caller = isOneOf(remoteAddress, trustedProxies) ? undefined : callerOf(remoteAddress);
    const now = caller === undefined ? 0 : (open.get(caller) ?? 0) + 1;
    if (now > mostPerAddress || budget.open >= budget.most) return void socket.destroy();
    budget.open += 1;
    if (caller !== undefined) open.set(caller, now);
    socket.once('close', () => {
      budget.open -= 1;
      if (caller === undefined) return;
      const left = (open.get(caller) ?? 1) - 1;
      if (left > 0) open.set(caller, left);
      else open.delete(caller);
    });
  });
}

/** The descriptors that this process may have open; infinitely many where the system reports no number. */
function descriptors(): number {
  const { report } = process;
  // Names of other ends would be looked up.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const { soft } = userLimits?.open_files ?? {};
  return typeof soft === 'number' ? soft : Infinity;
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
