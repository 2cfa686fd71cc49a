import { openBuses } from '../edges/bus.ts';
import { knownSecret } from '../engine/log/secrets.ts';
import { createWakeups } from '../engine/models/read/wakeups.ts';
import { observedIn, type Part, type RoleContext } from './role.ts';
import { pageSources } from './indexer-pages.ts';
import { pastReads } from './indexer-past.ts';
import { serve } from './serve.ts';
import { createChainClient } from '../edges/chain/rest/client.ts';
import { requestSync } from '../edges/indexer/rounds/request-sync.ts';
import { refusalPage, registerPages } from '../edges/indexer/pages/pages.ts';
import { createRest } from '../edges/indexer/rest/rest.ts';
import { hookKeyName, verifyingKeyOf } from '../edges/hooks/signing.ts';

const usualPorts = { nats: 4222, websocket: 4223 };

/**
 * The indexing REST API with its pages, listening, and the operations of the process.
 *
 * The start page shows `chainUrl` to every reader, so it is that of the local network or null: another URL may hold a
 * key.
 */
export async function startApi(context: RoleContext, chainUrl: string | null): Promise<Part> {
  const { config, network, profile, version, broker, pools, reader, lag, logger, signal } = context;
  const wakeups = createWakeups({ config: context.postgres, pools, network }, logger);
  await openBuses();
  const chain = chainUrl === null ? undefined : { url: chainUrl, client: createChainClient(chainUrl, profile) };
  const app = createRest({
    reader,
    lag,
    ...pastReads(context),
    observed: () => observedIn(context),
    requestSync: async (at, traceparent) => {
      const [{ sequence }, { incarnation }] = await Promise.all([
        requestSync(broker.log, at, traceparent),
        broker.log.head('SYNC'),
      ]);
      return { position: { stream: 'SYNC' as const, incarnation, sequence }, at };
    },
    subscribe: (onEvent) => {
      const ends = [broker.live(onEvent), wakeups.onMoved((advanced) => onEvent(JSON.stringify(advanced), 'moved'))];
      return () => ends.forEach((end) => end());
    },
    onMoved: wakeups.onMoved,
    settings: { ...config, ...subscriberPorts(context.nats), profile },
    webhookKey: async () => {
      const key = await knownSecret(broker.connection, network, hookKeyName);
      return key && verifyingKeyOf(key);
    },
    cursorKey: config.cursorKey ?? (await broker.secret('cursor')),
    logger,
    clock: () => Date.now(),
    signal,
    version,
    refusalPage,
    registerPages: (pages) => registerPages(pages, pageSources(context, chain)),
  });
  const part = await serve('REST API', app, {
    host: config.host,
    port: config.port,
    urls: (base) => ({
      start: `${base}/`,
      api: `${base}/v1/actions`,
      docs: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      readiness: `${base}/readyz`,
      metrics: `${base}/metrics`,
    }),
  });
  return { ...part, stop: async () => void (await Promise.all([part.stop(), wakeups.close(), chain?.client.close()])) };
}

/** The ports that subscribers use: those that the broker of this instance has, or what another one has as a rule. */
function subscriberPorts({
  url,
  wsUrl,
  user,
}: RoleContext['nats']): Readonly<{ natsPort: number; natsWsPort: number }> {
  const portOf = (address: string | undefined, usual: number): number =>
    user === undefined || address === undefined ? usual : Number(new URL(address).port);
  return { natsPort: portOf(url, usualPorts.nats), natsWsPort: portOf(wsUrl, usualPorts.websocket) };
}
