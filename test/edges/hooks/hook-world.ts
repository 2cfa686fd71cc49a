import { request } from 'node:http';
import path from 'node:path';
import { pino } from 'pino';
import { parseConfig } from '../../../src/config.ts';
import { openBuses } from '../../../src/edges/bus.ts';
import { startAdmin } from '../../../src/roles/admin.ts';
import { type Context, openStores } from '../../../src/roles/context.ts';
import { startHooks } from '../../../src/roles/hooks.ts';
import type { Part } from '../../../src/roles/role.ts';

type Json = Record<string, unknown>;

/** An answer of the administration. */
export type AdminAnswer = Readonly<{ status: number; body: Json }>;

/** The stores of a network, which the test's servers hold. */
export type HookStores = Readonly<{
  nats: Readonly<{ url: string; user: string; pass: string }>;
  postgres: object;
  network: string;
  folder: string;
}>;

/** The administration of webhooks and their deliveries, as roles start them. */
export type HookWorld = Readonly<{
  context: Context;
  admin: (method: string, address: string, body?: object) => Promise<AdminAnswer>;
  deliveries: Part;
  close: () => Promise<void>;
}>;

/** Opens the stores of a network as a process does, and starts deliveries on them. */
export async function openHookContext(
  { nats, postgres, network, folder }: HookStores,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Context> {
  const own = path.join(folder, network);
  const config = parseConfig({ DATA_DIR: folder, NETWORK: network, PORT: '0', DURABILITY: 'relaxed', ...env });
  const servers = {
    nats: { ...nats, from: 'a test' },
    postgres,
    folder: own,
    database: undefined,
    stop: async () => undefined,
  };
  await openBuses();
  return await openStores(config, servers, { logger: pino({ level: 'silent' }), signal });
}

/** Starts the administration and deliveries of a network. */
export async function openHookWorld(stores: HookStores, env: Record<string, string>): Promise<HookWorld> {
  const stop = new AbortController();
  const context = await openHookContext(stores, env, stop.signal);
  const administration = await startAdmin({ ...context, running: [] });
  const deliveries = startHooks(context);
  const socketPath = administration.urls['admin'] ?? '';
  return {
    context,
    deliveries,
    admin: async (method, address, body) => await ask(socketPath, { method, path: `/admin/v1/${address}` }, body),
    close: async () => {
      await deliveries.stop();
      await administration.stop();
      stop.abort();
      await Promise.all([context.pools.end(), context.broker.close()]);
    },
  };
}

async function ask(socketPath: string, to: { method: string; path: string }, body?: object): Promise<AdminAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<AdminAnswer>();
  const headers = body && { 'content-type': 'application/json' };
  request({ socketPath, ...to, ...(headers && { headers }) }, (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (part: string) => (text += part));
    const { statusCode: status = 0 } = answer;
    answer.on('end', () => resolve({ status, body: text === '' ? {} : (JSON.parse(text) as Json) }));
  })
    .on('error', reject)
    .end(body && JSON.stringify(body));
  return await promise;
}
