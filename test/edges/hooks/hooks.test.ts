import { jetstreamManager } from '@nats-io/jetstream';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { ensureStreams, streamName } from '../../../src/engine/log/streams.ts';
import { tracingOptions } from '../../../src/kit/tracing/settings.ts';
import { span, startTracing } from '../../../src/kit/tracing/tracing.ts';
import { startReceiver as startSpanReceiver } from '../../kit/tracing/otlp-receiver.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';
import { until } from '../../support/polling.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { actionOf, appendFacts, cause, everything } from '../../engine/log/fresh-log.ts';
import { type HookWorld, openHookWorld } from './hook-world.ts';
import { type Delivery, type Receiver, startReceiver } from './receiver.ts';

type Json = Record<string, unknown>;

const made = freshFolder();
let world: HookWorld;

beforeAll(async () => {
  const stores = { nats: testNats(), postgres: await freshDatabase(), network: freshNetwork(), folder: made.folder };
  world = await openHookWorld(stores, { PROBE_PRIVATE_ADDRESSES: 'allow', HOOK_RETRIES: '100ms 100ms 100ms' });
});
afterAll(async () => {
  await world.close();
  made.remove();
});

/** Registers a webhook at a receiver; gives back its path and secret. */
async function register({ url }: Pick<Receiver, 'url'>, options: Json = {}): Promise<{ path: string; secret: string }> {
  const { status, body } = await world.admin('POST', 'hooks', { url, streams: ['ACTIONS'], ...options });
  expect(status, JSON.stringify(body)).toBe(201);
  return { path: `hooks/${String((body['hook'] as Json)['id'])}`, secret: String(body['secret']) };
}

const append = async (...actions: readonly (readonly [string, number])[]): Promise<void> =>
  await appendFacts(
    world.context.broker.log,
    actions.map(([action, height]) => actionOf(action, height)),
  );
const endOf = async (): Promise<number> => (await world.context.broker.log.head('ACTIONS')).lastSequence;
const stateWhere = async (path: string, expected: Json): Promise<Json> =>
  await until(`${path} is ${JSON.stringify(expected)}`, async () => {
    const { body } = await world.admin('GET', path);
    return Object.entries(expected).every(([name, value]) => body[name] === value) && body;
  });
const heightOf = ({ event }: Delivery): number => (event['data'] as { seenAtHeight: number }).seenAtHeight;
const heightsOf = ({ received }: Receiver, action: string): number[] =>
  received.filter(({ event }) => event['subject'] === action).map(heightOf);
const isSigned = (secret: string, { body, headers }: Delivery): boolean => {
  try {
    return Boolean(new Webhook(secret).verify(body, headers));
  } catch {
    return false;
  }
};

describe('a webhook', () => {
  it('is sent each event as its stored bytes, signed so that standardwebhooks verifies it', async () => {
    const receiver = await startReceiver();
    const { path, secret } = await register(receiver);
    await append(['1001', 1], ['1002', 1], ['1001', 2]);
    const { last_failure, ...state } = await stateWhere(path, { delivered: 3 });
    for (const { body, headers, event } of receiver.received) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(event);
      expect(headers).toMatchObject({ 'webhook-id': event['id'], 'content-type': 'application/cloudevents+json' });
    }
    expect(heightsOf(receiver, '1001')).toEqual([1, 2]);
    expect(state).toMatchObject({ status: 'enabled', failed: 0, streams: [{ name: 'ACTIONS', lag_events: 0 }] });
    expect(last_failure).toBeNull();
    expect(JSON.stringify(await everything(world.context.broker.log, 'HOOKS'))).not.toContain(secret.slice(6));
    expect((await world.admin('GET', 'hooks')).body).toMatchObject({ hooks: [{ url: receiver.url }] });
    expect((await world.admin('DELETE', path)).status).toBe(204);
    expect((await world.admin('GET', path)).status).toBe(404);
  });

  it('waits for the consent of a receiver that expects somebody else', async () => {
    const receiver = await startReceiver();
    const allow = (allowed: string): void =>
      receiver.consent(() => ({ status: 204, headers: { 'webhook-allowed-origin': allowed } }));
    allow('elsewhere');
    const { path } = await register(receiver);
    const refused = 'the receiver expects events of elsewhere, not of annals-';
    expect((await world.admin('POST', `${path}/test`)).body).toMatchObject({
      acknowledged: false,
      reason: expect.stringContaining(refused),
    });
    await append(['1101', 1]);
    const { last_failure } = await stateWhere(path, { status: 'disabled' });
    expect(last_failure).toMatchObject({ reason: expect.stringContaining(refused) });
    expect(receiver.received).toEqual([]);
    allow('*');
    await world.admin('POST', `${path}/retry`);
    await stateWhere(path, { delivered: 1 });
    const [asked] = receiver.asked;
    expect(asked?.['webhook-request-origin']).toMatch(/^annals-[\da-f]{16}$/);
    expect(receiver.received[0]?.headers).toMatchObject({ origin: asked?.['webhook-request-origin'] });
    await world.admin('DELETE', path);
  });

  it('holds back the entity whose event failed, and no other', async () => {
    const receiver = await startReceiver();
    const from = (await endOf()) + 1;
    await append(['2001', 1], ['2001', 2], ['2002', 1], ['2002', 2]);
    let failures = 0;
    receiver.answer(async (delivery) => {
      if (delivery.event['subject'] !== '2001' || failures > 0) return { status: 204 };
      failures += 1;
      await until('the other has come', () => heightsOf(receiver, '2002').length === 2);
      return { status: 500 };
    });
    const { path } = await register(receiver, { from });
    expect(await stateWhere(path, { delivered: 4 })).toMatchObject({ failed: 1, waiting: [] });
    expect(heightsOf(receiver, '2001')).toEqual([1, 1, 2]);
    await world.admin('DELETE', path);
  });

  it('waits as long as the receiver requests', async () => {
    const receiver = await startReceiver();
    const { path } = await register(receiver);
    const times: number[] = [];
    receiver.answer(() =>
      times.push(Date.now()) === 1 ? { status: 503, headers: { 'retry-after': '2' } } : { status: 204 },
    );
    await append(['3001', 1], ['3001', 2]);
    await stateWhere(path, { delivered: 2, failed: 1 });
    const paused = (await everything(world.context.broker.log, 'HOOKS')).flatMap(({ fact }) =>
      fact.type === 'DeliveriesFailed' ? [Date.parse(fact.data.known.pausedUntil ?? '')] : [],
    );
    expect(times[1]).toBeGreaterThanOrEqual((times[0] ?? 0) + 2000);
    expect(times[1]).toBeGreaterThanOrEqual(paused.at(-1) ?? NaN);
    await world.admin('DELETE', path);
  });

  it('is disabled by 410, and sends what was due once it is enabled', async () => {
    const receiver = await startReceiver();
    const { path } = await register(receiver);
    receiver.answer(() => ({ status: 410 }));
    await append(['4001', 1]);
    expect(await stateWhere(path, { status: 'disabled' })).toMatchObject({ disabled_reason: 'gone', delivered: 0 });
    await append(['4001', 2], ['4002', 1]);
    receiver.answer(() => ({ status: 200 }));
    expect((await world.admin('PATCH', path, { enabled: true })).body).toMatchObject({ status: 'enabled' });
    await stateWhere(path, { delivered: 3 });
    expect(heightsOf(receiver, '4001')).toEqual([1, 1, 2]);
    await world.admin('DELETE', path);
  });

  it('is disabled once the last attempt has failed, follows no redirect, and warns', async () => {
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    const { path } = await register(receiver);
    receiver.answer(() => ({ status: 307, headers: { location: other.url } }));
    await append(['5001', 1]);
    const state = await stateWhere(path, { status: 'disabled' });
    expect(state).toMatchObject({
      disabled_reason: 'failing',
      failed: 4,
      last_failure: { attempt: 4, status: 307, reason: 'the receiver answered 307; redirects are not followed' },
      waiting: [{ entity: '5001', attempts: 4 }],
    });
    expect(other.received).toEqual([]);
    const [check] = world.deliveries.checks;
    const [figures] = world.deliveries.gauges;
    const component = `webhook ${path.slice('hooks/'.length)}`;
    expect((await check?.look())?.warnings).toContainEqual({
      component,
      message: expect.stringContaining('last attempt'),
    });
    expect(await figures?.metrics()).toContain(`annals_hook_failed_attempts{hook="${path.slice('hooks/'.length)}"} 4`);
    await world.admin('DELETE', path);
  });

  it('signs with both secrets for a while after a rotation', async () => {
    const receiver = await startReceiver();
    const { path, secret } = await register(receiver);
    const next = String((await world.admin('POST', `${path}/rotate`)).body['secret']);
    await append(['6001', 1]);
    await stateWhere(path, { delivered: 1 });
    const last = String((await world.admin('POST', `${path}/rotate?grace_seconds=0`)).body['secret']);
    await append(['6001', 2]);
    await stateWhere(path, { delivered: 2 });
    const signedBy = receiver.received.map((one) => [secret, next, last].map((by) => isSigned(by, one)));
    expect(signedBy[0]).toEqual([true, true, false]);
    expect(signedBy.at(-1)).toEqual([false, false, true]);
    await world.admin('DELETE', path);
  });

  it('sends what its filter names, again from a position, and an event to try it out', async () => {
    const receiver = await startReceiver();
    const from = (await endOf()) + 1;
    await append(['7001', 1], ['7002', 1], ['7001', 2]);
    const filter = { streams: ['ACTIONS', 'NODES'], types: ['annals.ActionExpired.v1'], entity: '7001' };
    const { path } = await register(receiver, filter);
    expect((await world.admin('POST', `${path}/replay`, { from, stream: 'ACTIONS' })).status).toBe(200);
    await stateWhere(path, { delivered: 2 });
    expect(receiver.received.map(heightOf)).toEqual([1, 2]);
    const tested = await world.admin('POST', `${path}/test`);
    expect(tested.body).toMatchObject({ acknowledged: true, status: 204, reason: null });
    expect(receiver.received.at(-1)?.event).toMatchObject({ type: 'annals.HookTest.v1', id: tested.body['id'] });
    await world.admin('PATCH', path, { types: [], entity: '7002', description: 'another' });
    await world.admin('POST', `${path}/replay`, { from, stream: 'ACTIONS' });
    await stateWhere(path, { delivered: 3 });
    expect(heightsOf(receiver, '7002')).toEqual([1]);
    await world.admin('DELETE', path);
  });

  it('is refused where it can never be delivered', async () => {
    const refusals: readonly (readonly [Json, string])[] = [
      [{ url: 'ftp://example.org' }, 'takes https:// or http://'],
      [{ url: 'http://user:word@127.0.0.1/' }, 'no user'],
      [{ url: 'nowhere' }, 'is no address'],
      [{ url: 'http://169.254.169.254/latest' }, 'not at a public address'],
      [{ url: 'http://127.0.0.1/', streams: ['TRANSFERS'] }, 'streams'],
      [{ url: 'http://127.0.0.1/', types: ['annals.ProbeFailed.v1'] }, 'No event of ACTIONS'],
      [{ url: 'http://127.0.0.1/', from: 1e9 }, 'ends at'],
    ];
    for (const [request, words] of refusals) {
      const { status, body } = await world.admin('POST', 'hooks', { streams: ['ACTIONS'], ...request });
      expect([status, body['error']], JSON.stringify(request)).toEqual([400, expect.stringContaining(words)]);
    }
    expect((await world.admin('POST', 'hooks/nothing/test')).status).toBe(404);
    expect((await world.admin('GET', 'hooks')).body).toEqual({ hooks: [] });
  });
});

describe('an act on a webhook', () => {
  const acts = async (hook: string): Promise<readonly Json[]> =>
    ((await world.admin('GET', 'operations')).body['operations'] as Json[]).filter(({ target }) => target === hook);

  it('is recorded with its operator; what is refused is not', async () => {
    const { path } = await register(await startReceiver());
    const hook = path.slice('hooks/'.length);
    await world.admin('PATCH', path, { enabled: false });
    expect((await world.admin('PATCH', path, { url: 'ftp://example.org' })).status).toBe(400);
    expect((await world.admin('POST', `${path}/replay`, { from: 1e9 })).status).toBe(400);
    expect((await world.admin('POST', `${path}/retry`)).body).toMatchObject({ status: 'enabled' });
    await world.admin('DELETE', path);
    const recorded = await acts(hook);
    expect(recorded.map(({ act }) => act)).toEqual(['remove_hook', 'retry_hook', 'disable_hook', 'register_hook']);
    for (const one of recorded)
      expect(one).toMatchObject({ status: 'succeeded', operator: { via: 'socket', name: expect.stringMatching(/./) } });
  });

  it('shows that a stream was created anew, however long it has become', async () => {
    const { context } = world;
    const { path } = await register(await startReceiver(), { streams: ['UPTIME'] });
    const shown = async () => ((await world.admin('GET', path)).body['streams'] as Json[])[0];
    expect(await shown()).toMatchObject({ name: 'UPTIME', position: 0, created_anew: false });
    const manager = await jetstreamManager(context.broker.connection);
    await manager.streams.delete(streamName('UPTIME', context.network));
    await ensureStreams(context.broker.connection, context.network);
    expect(await shown()).toMatchObject({ position: 0, created_anew: true });
    const warnings = (await world.deliveries.checks[0]?.look())?.warnings;
    expect(warnings).toContainEqual({
      component: `webhook ${path.slice('hooks/'.length)}`,
      message: 'UPTIME was created anew: replay it from where events are due.',
    });
    await world.admin('POST', `${path}/replay`, { from: 1 });
    expect(await shown()).toMatchObject({ created_anew: false });
    await world.admin('DELETE', path);
  });
});

describe('a delivery', () => {
  it('is in the trace of the event that it sends', async () => {
    const spans = await startSpanReceiver();
    const config = parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: spans.url });
    const end = await startTracing(tracingOptions(config, {}), world.context.logger);
    onTestFinished(end);
    const receiver = await startReceiver();
    const { path } = await register(receiver);
    const trace = 'ab'.repeat(16);
    const decision = { kind: 'action', entity: '8001', facts: [actionOf('8001')], expected: 0 } as const;
    const parents = [`00-${trace}-${'cd'.repeat(8)}-01`];
    await span('upload', { parents }, async () => await world.context.broker.log.append([decision], cause));
    await stateWhere(path, { delivered: 1 });
    const header = receiver.received[0]?.headers['traceparent'] ?? '';
    expect(header.split('-')[1]).toBe(trace);
    await end();
    const sent = spans.spans.find(({ name }) => name === 'POST webhook');
    expect(sent).toMatchObject({ traceId: trace, spanId: header.split('-')[2], isFailed: false });
    await world.admin('DELETE', path);
  });
});
