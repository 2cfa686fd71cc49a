import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net';

/** A TCP link to a server that can keep back what a client says. */
export type HeldLink = Readonly<{
  port: number;
  /** From the next bytes on that hold this text nothing more gets through; resolves with those bytes. */
  holdFrom: (text: string) => Promise<string>;
  /** Lets through what was kept back, and all that follows; gives back how to read what the server has said since. */
  release: () => () => string;
  close: () => void;
}>;

type Through = Readonly<{ far: Socket; bytes: Buffer }>;

/** Opens a link to a server; whoever opens it closes it. */
export async function heldLink(to: NetConnectOpts): Promise<HeldLink> {
  const sockets = new Set<Socket>();
  const kept: Through[] = [];
  const said: Buffer[] = [];
  let waited: { text: string; found: (bytes: string) => void } | undefined;
  let isHolding = false;
  let isListening = false;
  const pass = (far: Socket, bytes: Buffer): void => {
    if (!isHolding && waited && bytes.includes(waited.text)) {
      isHolding = true;
      waited.found(bytes.toString('latin1'));
      waited = undefined;
    }
    if (isHolding) kept.push({ far, bytes });
    else far.write(bytes);
  };
  const server = createServer((near) => {
    const far = connect(to);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((one) => one.destroy()));
    }
    near.on('data', (bytes: Buffer) => pass(far, bytes));
    far.on('data', (bytes: Buffer) => {
      if (isListening) said.push(bytes);
      near.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    holdFrom: (text) => new Promise((found) => (waited = { text, found })),
    release: () => {
      isHolding = false;
      isListening = true;
      for (const { far, bytes } of kept.splice(0)) far.write(bytes);
      return () => Buffer.concat(said).toString('latin1');
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
