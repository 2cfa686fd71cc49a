import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { createDataHasher } from '../../../src/edges/chain/files/data-hash.ts';
import { bytesOf } from '../../edges/node/files-under-test.ts';

type Json = Record<string, unknown>;

/** Asks for what the page `/transfers` asks for: what it loads, a registration, an upload, a private download. */
export async function expectMovedByPage(gateway: string, base: string): Promise<void> {
  expect(await (await fetch(`${base}/about.json`)).json()).toMatchObject({ gatewayUrl: gateway });
  const page = await fetch(`${gateway}/`);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
  await expectLoaded(gateway, linksIn(await page.text()));
  expect(await (await fetch(`${gateway}/transfers/about.json`)).json()).toEqual({
    is_local: true,
    explorer_url: base,
  });

  const bytes = bytesOf('p', 90_000);
  const hasher = await createDataHasher();
  hasher.update(bytes);
  const asked = { data_hash: hasher.digest(), file_name: 'of a page.bin', size: bytes.length, public: false };
  const prepared = await post(gateway, '/transfers/registrations', asked);
  expect(prepared).toMatchObject({ status: 201 });
  const form = new FormData();
  form.set('action_id', String(prepared.body['action_id']));
  form.set('signature', String(prepared.body['signature']));
  form.set('file', new Blob([bytes]), 'of a page.bin');
  const accepted = await fetch(`${gateway}/api/v1/actions/cascade`, { method: 'POST', body: form });
  const { task_id: upload } = (await accepted.json()) as Json;
  await expectCompleted(`${gateway}/api/v1/actions/cascade/tasks/${String(upload)}/status`);

  const action_id = String(prepared.body['action_id']);
  const { body: signed } = await post(gateway, '/transfers/signatures', { action_id });
  const { body: download } = await post(gateway, `/api/v1/actions/cascade/${action_id}/downloads`, signed);
  const task = `${gateway}/api/v1/downloads/cascade/${String(download['task_id'])}`;
  await expectCompleted(`${task}/status`);
  const fetched = Buffer.from(await (await fetch(`${task}/file`)).arrayBuffer());
  expect(createHash('sha256').update(fetched).digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));

  for (const wrong of [{}, { ...asked, data_hash: 'x' }, { ...asked, size: -1 }, { ...asked, public: 'perhaps' }])
    expect(await post(gateway, '/transfers/registrations', wrong)).toMatchObject({ status: 400 });
  expect(await post(gateway, '/transfers/signatures', { action_id: '7 or so' })).toMatchObject({ status: 400 });
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/(?:href|src|from)[= ]["'](\/[\w./-]+|\.\/[\w.]+)["']/g)].map(([, link]) => link ?? '');
}

/** Every link answers, and every module that a module imports. */
async function expectLoaded(gateway: string, links: readonly string[]): Promise<void> {
  const seen = new Set<string>();
  const open = links.map((link) => new URL(link, gateway).href);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const answer = await fetch(next);
    expect([next, answer.status]).toEqual([next, 200]);
    const from = next;
    if (next.endsWith('.js')) open.push(...linksIn(await answer.text()).map((link) => new URL(link, from).href));
  }
  expect([...seen].some((link) => link.endsWith('/assets/hashes/blake3.js'))).toBe(true);
}

async function expectCompleted(status: string): Promise<void> {
  const text = await (await fetch(status, { headers: { accept: 'text/event-stream' } })).text();
  expect(text).toContain('event: sdk:completed');
}

async function post(gateway: string, path: string, body: unknown): Promise<{ status: number; body: Json }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${gateway}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, body: (await answer.json()) as Json };
}
