import { createServer, type Socket } from 'node:net';
import { listen, type ListenAddress } from '../../kit/listen.ts';
import { countDown } from '../../kit/wait.ts';

const usualHandshakeMs = 30_000;
const connections = 1024;

/** Opens the port for other nodes: connections are accepted, and closed when no handshake comes within 30 s. */
export async function openPeersPort(
  position: ListenAddress,
  handshakeMs = usualHandshakeMs,
): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const late = countDown(handshakeMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      late.stop();
      sockets.delete(socket);
    });
    socket.resume();
  });
  server.maxConnections = connections;
  const port = await listen(server, position);
  return {
    port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
