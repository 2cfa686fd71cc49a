import type { Server } from 'node:http';
import { listen, type Place } from '../../kit/listen.ts';
import { hostPort } from '../../kit/net-address.ts';

/** Servers that listen, and where. */
type Opened = Readonly<{ urls: readonly string[]; close: () => Promise<void> }>;

/** Opens servers, all of them or none. Fails with `UNAVAILABLE` where a port is in use. */
export async function openPorts(places: readonly (Place & Readonly<{ server: Server }>)[]): Promise<Opened> {
  const close = async (): Promise<void> => {
    for (const { server } of places) {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    }
  };
  try {
    const urls: string[] = [];
    for (const { server, ...place } of places) urls.push(`http://${hostPort(place.host, await listen(server, place))}`);
    return { urls, close };
  } catch (caught) {
    await close();
    throw caught;
  }
}
