import { expect } from 'vitest';

/** The chain REST shows the catalogue of the JSON-RPC and hands on what is posted to it. */
export async function expectCatalogue(urls: Readonly<Record<string, string>>): Promise<void> {
  const { chain = '', 'json-rpc': jsonRpc = '' } = urls;
  const url = `${chain}/openrpc.json`;
  const shown = (await (await fetch(url)).json()) as Record<string, unknown>;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'rpc.discover' });
  const headers = { 'content-type': 'application/json' };
  const asked = await (await fetch(url, { method: 'POST', headers, body })).json();
  const { result } = asked as { result: Record<string, unknown> };
  expect(Object.keys(shown)[0]).toBe('openrpc');
  expect(shown).toEqual({ ...result, servers: [{ name: 'JSON-RPC over HTTP', url: jsonRpc }] });
  expect((await fetch(url, { method: 'POST', body })).status).toBe(415);
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(204);
  const refused = await fetch(url, { method: 'DELETE' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
}
