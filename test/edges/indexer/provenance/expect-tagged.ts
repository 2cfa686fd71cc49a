import { expect } from 'vitest';
import type { RestServer } from '../rest/rest-server.ts';

/** Expects events at a path to be 304 to whoever has them, and to nobody who has another page of them. */
export async function expectTagged(rest: RestServer, path: string): Promise<void> {
  const ask = async (asked: string, tag = '') => await rest.get(asked, { headers: { 'if-none-match': tag } });
  const tag = (await ask(path)).headers.get('etag') ?? '';
  const again = await ask(path, tag);
  expect([again.status, again.text, again.headers.get('vary')]).toEqual([304, '', 'Accept']);
  expect((await ask(`${path}?limit=1`, tag)).status).toBe(200);
  const proven = await ask(`${path}?proofs=inline`);
  expect(proven.headers.get('etag'), 'proofs change with the checkpoint').toBe(null);
}
