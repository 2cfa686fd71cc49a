import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJson } from '../../json-rpc/message.ts';

/** Path of the catalogue of the chain's JSON-RPC. */
export const openRpcPath = '/openrpc.json';

const withinMs = 10_000;
const discover = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rpc_discover', params: [] });
const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
  'access-control-allow-headers': 'content-type',
};

/**
 * Answers with the catalogue of the JSON-RPC, in which it names the server by an address that the client can reach. It
 * forwards posted requests to the JSON-RPC, so that a page which shows the catalogue can try it.
 *
 * `jsonRpc` is the address of the JSON-RPC here; 502 where it does not answer. `body` reads the request's.
 */
export async function answerOpenRpc(
  request: IncomingMessage,
  response: ServerResponse,
  { jsonRpc, body }: Readonly<{ jsonRpc: string | undefined; body: () => Promise<string> }>,
): Promise<void> {
  const { method = 'GET' } = request;
  if (method === 'OPTIONS') return void response.writeHead(204, cors).end();
  if (!['GET', 'HEAD', 'POST'].includes(method))
    return void response.writeHead(405, { ...cors, allow: 'GET, HEAD, POST, OPTIONS' }).end();
  if (method === 'POST' && !isJson(request)) return void response.writeHead(415, cors).end();
  const answer = jsonRpc === undefined ? undefined : await query(jsonRpc, method === 'POST' ? await body() : discover);
  if (jsonRpc === undefined || answer === undefined) {
    const error = JSON.stringify({ error: 'The JSON-RPC of the chain does not answer', code: 'UNAVAILABLE' });
    return send(response, 502, error, method);
  }
  send(response, 200, method === 'POST' ? answer : catalogueFor(request, answer, new URL(jsonRpc).port), method);
}

async function query(jsonRpc: string, body: string): Promise<string | undefined> {
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(jsonRpc, { method: 'POST', headers, body, signal: AbortSignal.timeout(withinMs) });
    return answer.ok ? await answer.text() : undefined;
  } catch {
    return undefined;
  }
}

/** The catalogue with the address by which the client reaches this host; its keys keep their order. */
function catalogueFor({ headers }: IncomingMessage, answer: string, port: string): string {
  const { result } = JSON.parse(answer) as Readonly<{ result: Readonly<{ servers: readonly object[] }> }>;
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  const host = /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d+)?$/i.exec(headers.host ?? '')?.[1] ?? 'localhost';
  const url = `${scheme}://${host}:${port}`;
  return JSON.stringify({ ...result, servers: result.servers.map((server) => ({ ...server, url })) });
}

function send(response: ServerResponse, status: number, body: string, method: string): void {
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { ...cors, 'content-type': 'application/json', 'content-length': length });
  response.end(method === 'HEAD' ? undefined : body);
}
