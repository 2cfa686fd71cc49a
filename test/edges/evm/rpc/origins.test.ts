import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

const [named, other] = ['https://wallet.example.org', 'https://other.example.org'];
let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ origins: [named] });
});
afterAll(async () => await chain.stop());

type Answer = Readonly<{ status: number | undefined; allowed: string | undefined; body: string }>;

/** Asks as a page of the origin does, or as a program where there is none; `fetch` would not send that header. */
async function ask(origin: string | undefined, method = 'POST'): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = { 'content-type': 'application/json', ...(origin !== undefined && { origin }) };
  const asked = request(chain.url, { method, headers, agent: false }, (response) => {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part));
    response.on('end', () => {
      const allowed = response.headers['access-control-allow-origin'];
      resolve({ status: response.statusCode, allowed, body: Buffer.concat(parts).toString('utf8') });
    });
  });
  asked.on('error', reject);
  asked.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}' : undefined);
  return await promise;
}

/** What a WebSocket from the origin comes to: 101 where it opens. */
async function open(origin: string | undefined): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const socket = new WebSocket(chain.wsUrl, origin === undefined ? {} : { origin });
  socket.on('open', () => resolve(101));
  socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
  socket.on('error', reject);
  try {
    return await promise;
  } finally {
    socket.terminate();
  }
}

describe('origins that may use JSON-RPC', () => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":"0x494c1a9"}';

  test('a page of a named origin is answered, and allowed to read it', async () => {
    expect(await ask(named)).toEqual({ status: 200, allowed: named, body: answer });
    expect(await ask(named, 'OPTIONS')).toEqual({ status: 204, allowed: named, body: '' });
    expect(await open(named)).toBe(101);
  });

  test('a page of another origin is refused over both, its requests not executed', async () => {
    expect(await ask(other)).toEqual({ status: 403, allowed: undefined, body: '' });
    expect(await ask(other, 'OPTIONS')).toEqual({ status: 403, allowed: undefined, body: '' });
    expect(await open(other)).toBe(403);
  });

  test('a program, which has no origin, is answered', async () => {
    expect(await ask(undefined)).toEqual({ status: 200, allowed: undefined, body: answer });
    expect(await open(undefined)).toBe(101);
  });
});
