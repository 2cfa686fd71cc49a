import type { Server } from 'node:http';
import { type ConnectionLimits, limitConnections } from '../../kit/connection-limits.ts';
import { listen, type ListenAddress } from '../../kit/listen.ts';
import { hostPort } from '../../kit/net-address.ts';

/** Servers that listen, and where. */
type Opened = Readonly<{ urls: readonly string[]; close: () => Promise<void> }>;

/** Connections to one of the ports. */
const usualConnections: ConnectionLimits = { most: 4_096, mostPerAddress: 1_024, trustedProxies: [] };

/**
 * Opens servers, all of them or none; connections to each are bounded, in all and of one address. Fails with
 * `UNAVAILABLE` where a port is in use.
 */
export async function openPorts(
  positions: readonly (ListenAddress & Readonly<{ server: Server }>)[],
  connections: Partial<ConnectionLimits> = {},
): Promise<Opened> {
  for (const { server } of positions) limitConnections(server, { ...usualConnections, ...connections });
  const close = async (): Promise<void> => {
    for (const { server } of positions) {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    }
  };
  try {
    const urls: string[] = [];
    for (const { server, ...place } of positions)
      urls.push(`http://${hostPort(place.host, await listen(server, place))}`);
    return { urls, close };
  } catch (caught) {
    await close();
    throw caught;
  }
}
