import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { parseBounded, TooComplex } from '../../kit/bounded-json.ts';

/** A JSON value, or why there is none. */
export type JsonAnswer =
  | Readonly<{ answer: 'ok'; body: unknown }>
  | Readonly<{ answer: 'timeout' | 'malformed' | 'too_large' | 'http_error' }>;

/** What a request may take: a deadline for the whole of it, a size of its body, and what calls it off. */
export type AskLimits = Readonly<{ wholeMs: number; maxBytes: number; signal: AbortSignal }>;

class TooLarge extends Error {}

/** A status is a few hundred values deep down to the volumes of a node. */
const bounds = { depth: 32, values: 20_000 };

/**
 * Gets JSON from a node over a connection that is open already, and closes it.
 *
 * Nothing the node does costs more than the limits: redirects and compressed bodies are not followed or unpacked, and
 * the deadline holds for the last byte too. Fails only when it is called off.
 */
export async function askJson(
  socket: Socket,
  path: string,
  { wholeMs, maxBytes, signal }: AskLimits,
): Promise<JsonAnswer> {
  const deadline = AbortSignal.timeout(wholeMs);
  try {
    const response = await get(socket, path, AbortSignal.any([signal, deadline]));
    if (response.statusCode !== 200) return { answer: 'http_error' };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await wholeBody(response, maxBytes));
    return { answer: 'ok', body: parseBounded(text, bounds) };
  } catch (caught) {
    signal.throwIfAborted();
    return { answer: deadline.aborted ? 'timeout' : failureOf(caught) };
  } finally {
    socket.destroy();
  }
}

function get(socket: Socket, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { remoteAddress: host, remotePort: port } = socket;
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      connection: 'close',
      'user-agent': 'annals',
    };
    const asked = request({ host, port, path, headers, signal, createConnection: () => socket }, resolve);
    asked.on('error', reject);
    // Answers before the answer can go on for ever.
    asked.on('information', () => asked.destroy(new Error('The node has more to say than its answer')));
    asked.on('close', () => reject(new Error('The connection ended without an answer')));
    asked.end();
  });
}

async function wholeBody(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failureOf(caught: unknown): 'malformed' | 'too_large' | 'http_error' {
  const code = caught instanceof Error && 'code' in caught ? String(caught.code) : '';
  if (caught instanceof TooLarge || code === 'HPE_HEADER_OVERFLOW') return 'too_large';
  const isNoJson =
    caught instanceof SyntaxError || caught instanceof TooComplex || code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
  return isNoJson || code.startsWith('HPE_') ? 'malformed' : 'http_error';
}
