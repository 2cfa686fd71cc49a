import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { AppError } from './errors.ts';

/** Where a server listens, and the words of its error when it cannot. */
export type ListenAddress = Readonly<{ host: string; port: number; what: string; remedy: string }>;

/** Opens a port and returns its number; fails with `UNAVAILABLE` that names the port and its purpose. */
export async function listen(server: Server, { host, port, what, remedy }: ListenAddress): Promise<number> {
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
