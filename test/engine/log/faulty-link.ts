import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP link to a server that can go wrong on demand. */
export type FaultyLink = Readonly<{
  url: string;
  /** From now on nothing that the server says arrives. */
  deafen: () => void;
  /** Breaks all connections; new ones work well. */
  cut: () => void;
}>;

/** Opens a link to the server of an address; it closes when the test ends. */
export async function faultyLink(address: string): Promise<FaultyLink> {
  const { hostname, port } = new URL(address);
  const sockets = new Set<Socket>();
  let isDeaf = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((one) => one.destroy()));
    }
    near.pipe(far);
    far.on('data', (bytes) => isDeaf || near.write(bytes));
  });
  const cut = (): void => {
    isDeaf = false;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return { url: `nats://127.0.0.1:${own}`, deafen: () => (isDeaf = true), cut };
}
