import { expect } from 'vitest';

const first = ['chain', 'rpc', 'json-rpc', 'node 1', 'node 2', 'node 3', 'gateway', 'transfers'];
const all = [...first, 'start', 'api', 'docs', 'openapi', 'readiness', 'metrics'];
const below: Readonly<Record<string, string>> = {
  chain: '/cosmos/base/tendermint/v1beta1/blocks/latest',
  gateway: '/openapi.json',
};
const administration = ['/admin/openapi.json', '/admin/v1/projections', '/admin/v1/hooks'];
/** What a port answers at a path that it does not have; the others answer 404. */
const unknownPath: Readonly<Record<string, number>> = { chain: 501, 'json-rpc': 405 };

/** A local network answers at every address that it prints, and its administration at none of them. */
export async function expectAnsweredAtAddresses(urls: Readonly<Record<string, string>>): Promise<void> {
  const web = Object.entries(urls).filter(([, url]) => url.startsWith('http'));
  expect(web.map(([name]) => name)).toEqual(all);
  for (const [name, url] of web) expect((await fetch(`${url}${below[name] ?? ''}`)).status).toBe(200);
  for (const [name, url] of web)
    for (const path of administration) {
      const { status } = await fetch(new URL(path, url));
      expect([name, path, status]).toEqual([name, path, unknownPath[name] ?? 404]);
    }
}
