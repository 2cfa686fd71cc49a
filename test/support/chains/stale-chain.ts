import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The REST of a chain behind an address that can fall behind it. */
export type StaleChain = Readonly<{
  url: string;
  /**
   * From now on gives what it last gave, until so many such answers went out and so much time is over; settles then.
   * What it never gave before, and what is posted, reaches the chain itself.
   */
  fallBehind: (least: Readonly<{ answers: number; ms: number }>) => Promise<void>;
}>;

type Given = Readonly<{ status: number; type: string; body: Buffer }>;
type Behind = { answers: number; untilMs: number; over: () => void };

/** Starts such an address in front of a chain; it ends with the stack. */
export async function staleChain(chainUrl: string, undo: AsyncDisposableStack): Promise<StaleChain> {
  const last = new Map<string, Given>();
  let behind: Behind | undefined;
  const give = async (request: IncomingMessage): Promise<Given> => {
    const key = `${request.url} ${String(request.headers['x-cosmos-block-height'] ?? '')}`;
    const known = request.method === 'GET' ? last.get(key) : undefined;
    if (behind && known) {
      behind.answers -= 1;
      if (behind.answers <= 0 && Date.now() >= behind.untilMs) {
        behind.over();
        behind = undefined;
      }
      return known;
    }
    const given = await forwarded(chainUrl, request);
    if (request.method === 'GET' && !behind) last.set(key, given);
    return given;
  };
  const server = createServer((request, response) => void answer(give(request), response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  undo.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fallBehind: async ({ answers, ms }) =>
      await new Promise<void>((over) => (behind = { answers, untilMs: Date.now() + ms, over })),
  };
}

async function answer(giving: Promise<Given>, response: ServerResponse): Promise<void> {
  try {
    const { status, type, body } = await giving;
    response.writeHead(status, { 'content-type': type }).end(body);
  } catch {
    response.destroy();
  }
}

async function forwarded(chainUrl: string, request: IncomingMessage): Promise<Given> {
  const body = new Uint8Array(await buffer(request));
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
  const answered = await fetch(chainUrl + request.url, {
    method: request.method ?? 'GET',
    headers: headers as Record<string, string>,
    ...(body.length > 0 && { body }),
  });
  const type = answered.headers.get('content-type') ?? 'application/json';
  return { status: answered.status, type, body: Buffer.from(await answered.arrayBuffer()) };
}
