import { afterAll, describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/events/catalogue.ts';
import { BansOfNode } from '../../../src/projections/storage/queries.ts';
import { runQuery } from '../../../src/edges/bus.ts';
import { accountOf, publicKeyOf } from '../../../src/edges/chain/sign/keys.ts';
import { createPools } from '../../../src/engine/models/pool.ts';
import { createReader } from '../../../src/engine/models/read/reading.ts';
import { loadReading } from '../../support/histories/load-projection.ts';
import { nodeKey, nodeUnderTest } from './node-under-test.ts';

const undo = new AsyncDisposableStack();
afterAll(() => undo.disposeAsync());

const node = accountOf(publicKeyOf(nodeKey));
const at = '2026-01-02T00:00:00.000Z';
const file = (of: string, action: string) => ({ file: `${of}/${action}`, node: of, action, at });
const stored = { stored: true, bytes: '3000000', pieces: 3 };
const peer = (name: string) => ({ pair: `${node}/${name}`, node, peer: name, at });
const ban = { banned: true, count: 2, since: at, address: '127.0.1.2:4445' };

const facts: readonly Fact[] = [
  { type: 'FileStored', data: { ...file(node, '31'), known: stored } },
  { type: 'FileStored', data: { ...file(node, '4'), known: stored } },
  { type: 'FileStored', data: { ...file('another', '5'), known: stored } },
  { type: 'FileLost', data: { ...file(node, '4'), known: { ...stored, stored: false } } },
  { type: 'PeerBanned', data: { ...peer('a'), known: ban } },
  { type: 'PeerBanned', data: { ...peer('b'), known: ban } },
  { type: 'PeerReleased', data: { ...peer('b'), known: { ...ban, banned: false } } },
];

describe('what a node holds and whom it has banned', () => {
  it('is answered from the read models, its own alone', { tags: ['S1.facts.read'] }, async () => {
    const { reading, close } = await loadReading(facts);
    undo.defer(close);
    const told = undo.use(await nodeUnderTest({ models: { read: async (use) => await use(reading) } }));
    expect(await (await fetch(`${told.http}/api/v1/files`)).json()).toEqual({
      node,
      files: [
        { action_id: '4', bytes: '3000000', pieces: 3, state: 'lost' },
        { action_id: '31', bytes: '3000000', pieces: 3, state: 'stored' },
      ],
    });
    const page = async (query: string) => {
      const answer = await fetch(`${told.http}/api/v1/files?${query}`);
      return [answer.status, (await answer.json()) as { files?: { action_id: string }[]; next?: string }] as const;
    };
    expect(await page('limit=1')).toMatchObject([200, { files: [{ action_id: '4' }], next: '4' }]);
    const [, { files, next }] = await page('limit=1&after=4');
    expect([files?.map(({ action_id }) => action_id), next]).toEqual([['31'], undefined]);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after=x'])
      expect(await page(query)).toMatchObject([400, { code: 3 }]);
    expect(await runQuery(reading, new BansOfNode({ node }))).toMatchObject([{ peer: 'a', count: 2 }]);
  });

  it('is 503 with code 14 while PostgreSQL is away', async () => {
    const pools = createPools({ host: '127.0.0.1', port: 1 }, { applicationName: 'annals test' });
    undo.defer(() => pools.end());
    const told = undo.use(await nodeUnderTest({ models: createReader({ pools, network: 'main' }) }));
    const answer = await fetch(`${told.http}/api/v1/files`);
    expect([answer.status, await answer.json()]).toEqual([503, { code: 14, message: expect.any(String), details: [] }]);
  });
});
