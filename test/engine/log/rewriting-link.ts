import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A TCP link to a server whose answers can be changed on the way. */
export type RewritingLink = Readonly<{
  url: string;
  /** From now on the server says this instead of that; both of one length. Only the last such pair counts. */
  rewrite: (what: string, by: string) => void;
}>;

/** Opens a link to the server of an address; it closes when the test ends. */
export async function rewritingLink(address: string): Promise<RewritingLink> {
  const { hostname, port } = new URL(address);
  const sockets = new Set<Socket>();
  let pair: readonly [what: string, by: string] | undefined;
  const changed = (bytes: Buffer): Buffer => {
    if (!pair) return bytes;
    return Buffer.from(bytes.toString('latin1').replaceAll(pair[0], pair[1]), 'latin1');
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((one) => one.destroy()));
    }
    near.pipe(far);
    far.on('data', (bytes: Buffer) => near.write(changed(bytes)));
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  const rewrite = (what: string, by: string): void => {
    if (what.length !== by.length) throw new Error('a message keeps its length');
    pair = [what, by];
  };
  return { url: `nats://127.0.0.1:${own}`, rewrite };
}
