import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A delivery as it came: its headers, and its body byte for byte. */
export type Delivery = Readonly<{ headers: Record<string, string>; body: string; event: Record<string, unknown> }>;

/** What a receiver answers; nothing at all where it is undefined. */
export type Answer = Readonly<{ status: number; headers?: Record<string, string> }> | undefined;

/**
 * A receiver of webhooks on a port of loopback: `received` grows with each delivery, whatever its answer, and `asked`
 * with the headers of each question whether it expects deliveries.
 */
export type Receiver = Readonly<{
  url: string;
  received: Delivery[];
  asked: Record<string, string>[];
  /** Answers such questions; without it, with 405 as one that knows nothing of them. */
  consent: (how: (headers: Record<string, string>) => Answer) => void;
  answer: (how: (one: Delivery) => Answer | Promise<Answer>) => void;
}>;

/** Starts a receiver that answers 204; it is closed when the test is over. */
export async function startReceiver(): Promise<Receiver> {
  const received: Delivery[] = [];
  let how: (one: Delivery) => Answer | Promise<Answer> = () => ({ status: 204 });
  const asked: Record<string, string>[] = [];
  let consent: (headers: Record<string, string>) => Answer = () => ({ status: 405 });
  const server = createServer((request, response) => void take(request, response));
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const headers = request.headers as Record<string, string>;
    if (request.method === 'OPTIONS') {
      asked.push(headers);
      const agreed = consent(headers);
      if (agreed) response.writeHead(agreed.status, agreed.headers).end();
      return;
    }
    const delivery = { headers, body, event: JSON.parse(body) };
    received.push(delivery);
    const answer = await how(delivery);
    if (answer) response.writeHead(answer.status, answer.headers).end();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/events`,
    received,
    asked,
    consent: (next) => void (consent = next),
    answer: (next) => void (how = next),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
