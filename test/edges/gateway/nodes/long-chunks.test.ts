import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { expect, it, onTestFinished } from 'vitest';
import type { StoringNode } from '../../../../src/edges/chain/files/chain.ts';
import { DownloadResponseSchema } from '../../../../src/edges/gen/cascade/service_pb.ts';
import { actionOver, gatewayUnderTest } from '../gateway-under-test.ts';
import { bytes, good } from '../misdeeds.ts';
import { historyOf, serveNodes, type Told } from '../nodes-under-test.ts';

const status = { ':status': 200, 'content-type': 'application/grpc+proto' };

/** A node that answers with bytes of its own. */
async function serveBytes(answer: (stream: ServerHttp2Stream) => void): Promise<StoringNode> {
  const server = createServer().on('stream', (stream) => {
    stream.on('error', () => undefined).resume();
    stream.respond(status, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    answer(stream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { account: 'lumera1raw', ip: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

/** What of an envelope comes before a message of so many bytes. */
function headOf(size: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(size, 1);
  return head;
}

async function fetchedFrom(nodes: readonly StoringNode[]) {
  const chain = { storers: async () => await Promise.resolve({ nodes: [...nodes], total: nodes.length }) };
  const gateway = await gatewayUnderTest({ chain, stallMs: 20_000 });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  gateway.actions.set('7', await actionOver(bytes, { chainState: 'done', isPublic: true }));
  const asked = await fetch(`${gateway.url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  const { task_id: task } = (await asked.json()) as { task_id: string };
  const history = await historyOf(gateway.url, 'downloads', task);
  const file = await fetch(`${gateway.url}/api/v1/downloads/cascade/${task}/file`);
  return { history, body: Buffer.from(await file.arrayBuffer()) };
}

const attempts = (history: readonly Told[]) =>
  history
    .filter((one) => one.status === 'sdk:download_attempt')
    .map(({ data }) => [data['sn-address'], data['previous_error']]);

it('a message of more bytes than any may have costs its node the attempt before they come', async () => {
  const oversized = await serveBytes((stream) => void stream.write(headOf(2 ** 30)));
  const tooLong = expect.stringMatching('larger than configured') as string;
  const { history, body } = await fetchedFrom([oversized, ...(await serveNodes(good, [() => ({})]))]);
  expect([history.at(-1)?.status, body.equals(bytes)]).toEqual(['sdk:completed', true]);
  expect(attempts(history)).toEqual([
    ['lumera1raw', undefined],
    ['lumera1node0', tooLong],
  ]);
  // It has failed: one that is busy would be asked for two minutes.
  const { history: alone } = await fetchedFrom([oversized]);
  expect(alone.at(-1)).toMatchObject({ status: 'sdk:failed', data: { error: tooLong } });
  expect(attempts(alone)).toEqual([
    ['lumera1raw', undefined],
    ['lumera1raw', tooLong],
  ]);
});

it('long chunks arrive whole, however their bytes fall', async () => {
  const message = (data: Uint8Array): Buffer => {
    const response = create(DownloadResponseSchema, { responseType: { case: 'chunk', value: { data } } });
    const sent = toBinary(DownloadResponseSchema, response);
    return Buffer.concat([headOf(sent.length), sent]);
  };
  const cuts = [0, 16_383, 16_384, 90_000, 90_001, bytes.length];
  const answer = Buffer.concat(cuts.map((from, at) => message(bytes.subarray(from, cuts[at + 1] ?? from))));
  const odd = await serveBytes((stream) => {
    // Heads are cut in all places, as the pieces grow.
    for (let at = 0, size = 1; at < answer.length; at += size, size = (size * 13) % 4_099)
      stream.write(answer.subarray(at, at + size));
    stream.end();
  });
  const { history, body } = await fetchedFrom([odd]);
  expect(history.at(-1)).toMatchObject({ status: 'sdk:completed' });
  expect(history.at(-2)?.data).toMatchObject({ chunks: cuts.length, bytes_total: bytes.length });
  expect(body.equals(bytes)).toBe(true);
});

it('a node that ends within a chunk costs the attempt', async () => {
  const short = await serveBytes((stream) => {
    stream.end(Buffer.concat([headOf(100_000), Buffer.from([0x12, 0x9c, 0x8d, 0x06, 0x0a, 0x98, 0x8d, 0x06, 7, 7])]));
  });
  const { history } = await fetchedFrom([short]);
  expect(history.at(-1)).toMatchObject({
    status: 'sdk:failed',
    data: { error: expect.stringContaining('incomplete envelope') as string },
  });
});
