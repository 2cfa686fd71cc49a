import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { CascadeChain, Storers, StoringNode } from '../../../src/edges/chain/files/chain.ts';
import { availableFirst } from '../../../src/edges/gateway/nodes/candidates.ts';
import { createFailures } from '../../../src/edges/gateway/nodes/failures.ts';
import { actionOver, type GatewayChanges, type GatewayUnderTest, gatewayUnderTest } from './gateway-under-test.ts';
import { goodNode, historyOf, serveNodes } from './nodes-under-test.ts';

const bytes = randomBytes(10_000);

async function start(changes: GatewayChanges): Promise<GatewayUnderTest> {
  const gateway = await gatewayUnderTest(changes);
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  for (const id of ['1', '2'])
    gateway.actions.set(id, await actionOver(bytes, { id, chainState: 'done', isPublic: true }));
  return gateway;
}

async function download({ url }: GatewayUnderTest, id: string) {
  const answer = await fetch(`${url}/api/v1/actions/cascade/${id}/downloads?public=true`, { method: 'POST' });
  const json = (await answer.json()) as Record<string, unknown>;
  const states = answer.ok ? await historyOf(url, 'downloads', String(json['task_id'])) : [];
  const tried = states.filter(({ status }) => status === 'sdk:download_attempt').map(({ data }) => data['sn-address']);
  return { status: answer.status, error: json['error'], states, tried };
}

it('a node that failed lately comes behind the others', { tags: ['S3.nodes.failed'] }, async () => {
  const broken = () => ({
    async *download() {
      yield* [];
      throw new Error('no eligible store peers');
    },
  });
  const nodes = await serveNodes(goodNode(bytes), [broken, () => ({})]);
  const failures = createFailures();
  const reader = { read: async () => await Promise.reject(new AppError('UNAVAILABLE', 'nobody probes')) };
  const storers = async () => await Promise.resolve({ nodes, total: 2 });
  const ordered = availableFirst({ storers } as Partial<CascadeChain> as CascadeChain, { reader, failures });
  const gateway = await start({ chain: { storers: ordered.storers }, failures });
  expect((await download(gateway, '1')).tried).toEqual(['lumera1node0', 'lumera1node1']);
  expect((await download(gateway, '2')).tried).toEqual(['lumera1node1']);
});

it('a file whose nodes are gone is fetched from those of today', { tags: ['S3.nodes.beyond'] }, async () => {
  const [dead, alive] = (await serveNodes(goodNode(bytes), ['absent', () => ({})])) as [StoringNode, StoringNode];
  const lists: Storers[] = [
    { nodes: [dead], total: 1 },
    { nodes: [], total: 0 },
  ];
  for (const [index, then] of lists.entries()) {
    const storers = async (height: number) =>
      await Promise.resolve(height === 5 ? then : { nodes: [dead, alive], total: 2 });
    const gateway = await start({
      chain: {
        storers,
        head: async () => await Promise.resolve({ chainId: 'c', height: 900, time: '2026-01-01T00:00:00Z' }),
      },
    });
    const { states, tried } = await download(gateway, String(index + 1));
    expect(states.at(-1)?.status).toBe('sdk:completed');
    expect(tried.at(-1)).toBe('lumera1node1');
  }
});

it('a refusal says why no node can be dialled', { tags: ['S3.nodes.none'] }, async () => {
  for (const [storers, words] of [
    [{ nodes: [], total: 0 }, 'the chain lists none'],
    [{ nodes: [], total: 3, notPublic: 3 }, 'PROBE_PRIVATE_ADDRESSES=allow'],
    [{ nodes: [], total: 3, notPublic: 1 }, 'none of the 3'],
  ] as const) {
    const gateway = await start({ chain: { storers: async () => await Promise.resolve(storers) } });
    const { status, error } = await download(gateway, '1');
    expect([status, error]).toEqual([503, expect.stringContaining(words)]);
  }
});

it('why a node refused is told, also where its text ends in a space', { tags: ['S3.states.previous'] }, async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/grpc+proto' });
    response.addTrailers({ 'grpc-status': '13', 'grpc-message': 'raptorq encode: IO error: ' });
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const storers = async () =>
    await Promise.resolve({ nodes: [{ account: 'lumera1full', ip: '127.0.0.1', port }], total: 1 });
  const gateway = await start({ chain: { storers } });
  const { states } = await download(gateway, '1');
  expect(states.at(-1)?.data['error']).toContain('raptorq encode: IO error');
});
