import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { signText } from '../../../src/edges/cascade/signatures.ts';
import { CascadeService, SupernodeEventType } from '../../../src/edges/gen/cascade/service_pb.ts';
import { actionOver, creatorKey, gatewayUnderTest } from './gateway-under-test.ts';

const bytes = randomBytes(400_000);
const chunkBytes = 50_000;
const foreverMs = 60_000;

type Node = ServiceImpl<typeof CascadeService>;
/** What a node does wrong; `cut` ends its connections at once. */
type Misdeed = (cut: () => void) => Partial<Node>;

const chunk = (data: Uint8Array) => ({ responseType: { case: 'chunk' as const, value: { data } } });
const finalized = { eventType: SupernodeEventType.ACTION_FINALIZED, message: 'done', txHash: 'AB'.repeat(32) };

async function* sent(of: Uint8Array, upTo = of.length) {
  for (let at = 0; at < upTo; at += chunkBytes) yield chunk(of.subarray(at, Math.min(at + chunkBytes, upTo)));
}

/** Takes what comes until so many bytes of the file are here. */
async function taken(requests: Parameters<Node['register']>[0], upTo = Infinity): Promise<number> {
  let size = 0;
  for await (const { requestType } of requests) {
    if (requestType.case === 'chunk') size += requestType.value.data.length;
    if (size >= upTo) break;
  }
  return size;
}

const good: Node = {
  async *download() {
    yield* sent(bytes);
  },
  async *register(requests) {
    if ((await taken(requests)) !== bytes.length) throw new ConnectError('too few bytes', Code.InvalidArgument);
    yield finalized;
  },
};

const dying =
  (quarter: number): Misdeed =>
  (cut) => ({
    async *download() {
      yield* sent(bytes, (bytes.length * quarter) / 4);
      cut();
      await pause(foreverMs, undefined, { ref: false });
    },
    async *register(requests) {
      await taken(requests, (bytes.length * quarter) / 4);
      cut();
      yield finalized;
    },
  });

const refusing: Misdeed = () => ({
  async *download() {
    yield* [];
    throw new ConnectError('not today', Code.FailedPrecondition);
  },
  async *register() {
    yield* [];
    throw new ConnectError('not today', Code.Internal);
  },
});

const stalling: Misdeed = () => ({
  async *download() {
    yield* sent(bytes, bytes.length / 2);
    await pause(foreverMs, undefined, { ref: false });
  },
  async *register(requests) {
    await taken(requests);
    await pause(foreverMs, undefined, { ref: false });
    yield finalized;
  },
});

/** Only to who fetches: what an upload comes to is the chain's to say. */
const giving =
  (other: Uint8Array): Misdeed =>
  () => ({
    async *download() {
      yield* sent(other);
    },
    async *register(requests) {
      await taken(requests);
      yield { eventType: SupernodeEventType.ACTION_RETRIEVED, message: '', txHash: '' };
    },
  });

const misdeeds: Readonly<Record<string, Misdeed>> = {
  'dies before the first quarter': dying(0),
  'dies after a quarter': dying(1),
  'dies at half': dying(2),
  'dies after three quarters': dying(3),
  refuses: refusing,
  stalls: stalling,
  'gives other bytes, or ends without finalizing': giving(randomBytes(bytes.length)),
  'gives too few bytes': giving(bytes.subarray(1)),
  'gives too many bytes': giving(Buffer.concat([bytes, bytes.subarray(0, 1)])),
  'gives one byte changed': giving(Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])),
};

/** Serves nodes at loopback addresses of their own, all on one port. */
async function serveNodes(nodes: readonly Misdeed[]): Promise<{ port: number; addresses: string[] }> {
  const subnet = `127.${10 + Math.floor(Math.random() * 200)}.${Math.floor(Math.random() * 250)}`;
  const addresses = nodes.map((_, index) => `${subnet}.${index + 1}`);
  let port = 0;
  for (const [index, misdeed] of nodes.entries()) {
    const sessions = new Set<ServerHttp2Session>();
    const cut = (): void => sessions.forEach((session) => session.destroy());
    const node = { ...good, ...misdeed(cut) };
    const server = createServer(connectNodeAdapter({ routes: (router) => router.service(CascadeService, node) }));
    server.on('session', (session) => sessions.add(session));
    server.listen(port, addresses[index]);
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      cut();
      server.close();
    });
  }
  return { port, addresses };
}

async function start(nodes: readonly Misdeed[], chainState: string) {
  const { port, addresses } = await serveNodes(nodes);
  const storers = addresses.map((ip, index) => ({ account: `lumera1node${index}`, ip }));
  const chain = { storers: async () => await Promise.resolve({ nodes: storers, total: storers.length }) };
  const gateway = await gatewayUnderTest({ chain, nodePort: port, stallMs: 400 });
  onTestFinished(async () => await gateway[Symbol.asyncDispose]());
  const action = await actionOver(bytes, { chainState, isPublic: true });
  gateway.actions.set('7', action);
  return { url: gateway.url, signature: signText(creatorKey, action.file?.dataHash ?? '') };
}

type Told = Readonly<{ status: string; data: Readonly<Record<string, unknown>> }>;

async function historyOf(url: string, kind: 'uploads' | 'downloads', task: string): Promise<Told[]> {
  const below = kind === 'downloads' ? 'downloads/cascade' : 'actions/cascade/tasks';
  const history = async (): Promise<Told[]> =>
    (await (await fetch(`${url}/api/v1/${below}/${task}/history`)).json()) as Told[];
  await expect
    .poll(async () => (await history()).at(-1)?.status, { timeout: 20_000 })
    .toMatch(/^sdk:(completed|failed)$/);
  return await history();
}

async function fetched(nodes: readonly Misdeed[]) {
  const { url } = await start(nodes, 'done');
  const asked = await fetch(`${url}/api/v1/actions/cascade/7/downloads?public=true`, { method: 'POST' });
  const { task_id: task } = (await asked.json()) as { task_id: string };
  const history = await historyOf(url, 'downloads', task);
  const file = await fetch(`${url}/api/v1/downloads/cascade/${task}/file`);
  return { history, status: file.status, body: Buffer.from(await file.arrayBuffer()) };
}

async function uploaded(nodes: readonly Misdeed[]): Promise<Told[]> {
  const { url, signature } = await start(nodes, 'pending');
  const form = new FormData();
  for (const [name, value] of Object.entries({ action_id: '7', signature })) form.append(name, value);
  form.append('file', new Blob([bytes]), 'file.bin');
  const answer = await fetch(`${url}/api/v1/actions/cascade`, { method: 'POST', body: form });
  const { task_id: task } = (await answer.json()) as { task_id: string };
  return await historyOf(url, 'uploads', task);
}

const attempts = (history: readonly Told[]) =>
  history.filter(({ status }) => /^sdk:(download|registration)_attempt$/.test(status)).map(({ data }) => data);

describe.each(Object.entries(misdeeds))('a SuperNode that %s', (_, misdeed) => {
  it('costs one attempt, and the next node serves', { tags: ['S3.nodes.hostile'] }, async () => {
    const { history, status, body } = await fetched([misdeed, () => ({})]);
    expect([history.at(-1)?.status, status, body.equals(bytes)]).toEqual(['sdk:completed', 200, true]);
    expect(attempts(history)).toMatchObject([{ iteration: 1 }, { iteration: 2, previous_error: expect.any(String) }]);
    const upload = await uploaded([misdeed, () => ({})]);
    expect(upload.at(-1)?.status).toBe('sdk:completed');
    expect(attempts(upload)).toMatchObject([{ iteration: 1 }, { iteration: 2, previous_error: expect.any(String) }]);
  });

  it('that is the only one ends the task, and no byte is given out', { tags: ['S3.nodes.hostile'] }, async () => {
    const { history, status, body } = await fetched([misdeed]);
    const last = history.slice(-2).map(({ status: name, data }) => [name, data['code']]);
    expect(last).toEqual([
      ['sdk:supernodes_unavailable', 'SERVICE_UNAVAILABLE'],
      ['sdk:failed', 'SERVICE_UNAVAILABLE'],
    ]);
    expect([status, JSON.parse(body.toString())]).toMatchObject([409, { code: 'CONFLICT' }]);
  });
});

it(
  'events that nobody knows are shown cleaned, and keep nothing from its end',
  { tags: ['S3.nodes.events'] },
  async () => {
    const odd = { eventType: 99 as SupernodeEventType, message: `a\u0000b\n${'c'.repeat(400)}` };
    const telling: Misdeed = () => ({
      async *download() {
        yield { responseType: { case: 'event' as const, value: odd } };
        yield* sent(bytes);
      },
    });
    const { history, status, body } = await fetched([telling]);
    expect([status, body.equals(bytes)]).toEqual([200, true]);
    const shown = history.find(({ status: name }) => name === 'supernode:unknown');
    expect(shown?.data).toMatchObject({ event_type: 99, message: `a b ${'c'.repeat(296)}` });
  },
);

it('a node that tells without end is left', { tags: ['S3.nodes.events'], timeout: 60_000 }, async () => {
  const babbling: Misdeed = () => ({
    async *download() {
      for (;;) yield { responseType: { case: 'event' as const, value: { eventType: 1, message: 'on and on' } } };
    },
  });
  const { history, status } = await fetched([babbling, () => ({})]);
  expect(status).toBe(200);
  expect(attempts(history)[1]).toMatchObject({ previous_error: 'the node told more than 1000 events' });
});
