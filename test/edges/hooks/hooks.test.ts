import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshFolder } from '../../support/fresh-folder.ts';
import { until } from '../../support/polling.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/servers.ts';
import { actionOf, appendFacts, everything } from '../../engine/log/fresh-log.ts';
import { type HookWorld, openHookWorld } from './hook-world.ts';
import { type Receiver, startReceiver } from './receiver.ts';

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
async function register({ url }: Receiver, options: Json = {}): Promise<{ path: string; secret: string }> {
  const { status, body } = await world.admin('POST', 'hooks', { url, streams: ['ACTIONS'], ...options });
  expect(status, JSON.stringify(body)).toBe(201);
  return { path: `hooks/${String((body['hook'] as Json)['id'])}`, secret: String(body['secret']) };
}

const append = async (...actions: readonly (readonly [string, number])[]): Promise<void> =>
  await appendFacts(
    world.context.broker.log,
    actions.map(([action, height]) => actionOf(action, height)),
  );
const stateOf = async (path: string): Promise<Json> => (await world.admin('GET', path)).body;
const heightsOf = ({ received }: Receiver, action: string): number[] =>
  received
    .filter(({ event }) => event['subject'] === action)
    .map(({ event }) => (event['data'] as { seenAtHeight: number }).seenAtHeight);

describe('a webhook', () => {
  it('is sent each event as its stored bytes, signed so that standardwebhooks verifies it', async () => {
    const receiver = await startReceiver();
    const { path, secret } = await register(receiver);
    await append(['1001', 1], ['1002', 1], ['1001', 2]);
    await until('all have come', () => receiver.received.length === 3);
    for (const { body, headers, event } of receiver.received) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(event);
      expect(headers).toMatchObject({ 'webhook-id': event['id'], 'content-type': 'application/cloudevents+json' });
    }
    expect(heightsOf(receiver, '1001')).toEqual([1, 2]);
    const { last_failure, ...state } = await until('that is recorded', async () => {
      const now = await stateOf(path);
      return now['delivered'] === 3 && now;
    });
    expect(state).toMatchObject({ status: 'enabled', failed: 0, streams: [{ name: 'ACTIONS', lag_events: 0 }] });
    expect(last_failure).toBeNull();
    expect(JSON.stringify(await everything(world.context.broker.log, 'HOOKS'))).not.toContain(secret.slice(6));
    await world.admin('DELETE', path);
    expect((await world.admin('GET', path)).status).toBe(404);
  });
});
