import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createYielding } from '../../kit/yielding.ts';
import { watchAnswer } from '../rpc/stalled-answers.ts';
import { traceAnswer } from './request-spans.ts';

type Headers = Readonly<Record<string, string>>;

/** Limits of what is read and dropped of a body that is too large, so that its sender gets to read the answer. */
const readOn = { bytes: 32 * 1024 * 1024, ms: 5_000 };

/** A client that takes nothing of what is sent to it for so long is cut off. */
const usualStallMs = 30_000;

/** A body is longer than it may be; the rest of it is unread, so the answer has to be `sendUnread`. */
export class BodyTooLarge extends Error {}

/**
 * A server for wires that have forms of their own, such as JSON-RPC: nothing but its bounds; not listening yet.
 *
 * What `answer` fails with is answered by `failed`; a connection for which that fails too is cut, and so is one whose
 * client takes nothing of a response for `stallMs`.
 */
export function createPlainServer(
  bounds: ServerOptions,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  failed: (caught: unknown, response: ServerResponse) => Promise<void> | void,
  stallMs = usualStallMs,
): Server {
  const server = createServer(bounds, (request, response) => {
    void traceAnswer(request, response, () =>
      answer(request, response)
        .catch(async (caught: unknown) => await failed(caught, response))
        .catch(() => void response.destroy()),
    );
  });
  return server.on('connection', (socket) => watchAnswer(socket, stallMs, () => socket.destroy()));
}

/** Text of a request's body; `count` receives the size of each piece; fails with `BodyTooLarge` beyond `mostBytes`. */
export async function readBody(
  request: IncomingMessage,
  mostBytes: number,
  count: (bytes: number) => void = () => undefined,
): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of piecesOf(request)) {
    size += piece.length;
    if (size > mostBytes) throw new BodyTooLarge();
    count(piece.length);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function* piecesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    const piece: unknown = part;
    if (piece instanceof Buffer) yield piece;
  }
}

/** Sends a response, as JSON unless the headers name another type; does nothing where one has started already. */
export function send(response: ServerResponse, status: number, body?: string, headers: Headers = {}): void {
  if (response.headersSent) return;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers }).end(body);
}

/** Characters of a long body that are encoded and sent in one go. */
const charactersInPiece = 64 * 1024;

/** The same for a body that may be long: other requests are answered while it is sent, as fast as its client reads. */
export async function sendInTurns(response: ServerResponse, status: number, body: string): Promise<void> {
  if (body.length <= charactersInPiece) return send(response, status, body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  const rest = createYielding();
  for (let at = 0, end = 0; at < body.length && !response.destroyed; at = end) {
    await rest();
    end = at + charactersInPiece;
    if (isBetweenHalves(body, end)) end += 1;
    if (!response.write(body.slice(at, end))) await drained(response);
  }
  response.end();
}

/** Returns whether a character of two halves is cut by an end there. */
function isBetweenHalves(text: string, end: number): boolean {
  return (text.codePointAt(end - 1) ?? 0) > 0xff_ff;
}

/** Resolves once what was written is taken, or the connection has closed. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    response.off('drain', done).off('close', done);
    resolve();
  };
  response.on('drain', done).on('close', done);
  await promise;
}

/**
 * The same for a request whose body is not read to its end: answers at once, reads on for a while and closes then.
 *
 * A connection that closes over unread bytes takes the answer along.
 */
export async function sendUnread(response: ServerResponse, status: number, body?: string): Promise<void> {
  if (response.headersSent) return;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, connection: 'close', 'content-length': Buffer.byteLength(body ?? '') });
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  const { req: request } = response;
  const timer = setTimeout(() => request.destroy(), readOn.ms);
  let size = 0;
  try {
    for await (const piece of piecesOf(request)) {
      size += piece.length;
      if (size > readOn.bytes) break;
    }
  } catch {
    // Its sender has gone, or takes too long.
  }
  clearTimeout(timer);
  response.end();
}
