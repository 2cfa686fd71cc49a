import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { AppError } from './errors.ts';

/** Where a server is to listen, and what to say when it cannot. */
export type Place = Readonly<{ host: string; port: number; what: string; remedy: string }>;

/** Opens a port and says which it became; fails with `UNAVAILABLE` that names the port and what it is for. */
export async function listen(server: Server, { host, port, what, remedy }: Place): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (caught) {
    const code = caught instanceof Error && 'code' in caught ? String(caught.code) : String(caught);
    const why = code === 'EADDRINUSE' ? 'it is taken' : `the system says ${code}`;
    throw new AppError('UNAVAILABLE', `Port ${port} of ${host} cannot be opened for ${what}: ${why}. ${remedy}`, {
      cause: caught,
    });
  }
  const { port: opened } = server.address() as AddressInfo;
  return opened;
}
