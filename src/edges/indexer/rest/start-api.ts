import { once } from 'node:events';
import { toAppError } from '../../../commands/errors.ts';
import { FollowedChain } from '../../../projections/rounds/queries.ts';
import { ask, openBuses } from '../../bus.ts';
import { decodeMetadata } from '../chain/metadata.ts';
import { requestSync } from '../chain/request-sync.ts';
import { createReader, type Reader } from '../../models/read/reading.ts';
import { createWakeups } from '../../models/read/wakeups.ts';
import { type About, registerPages } from '../pages/pages.ts';
import { createRest } from './rest.ts';
import type { Part, RoleContext } from '../../roles/role.ts';

/**
 * The indexing REST API with its pages, listening; of a process that does not index, only how it does.
 *
 * The start page tells everybody `chainUrl`, so it is that of the local network or null: another one may hold a key.
 */
export async function startApi(context: RoleContext, chainUrl: string | null): Promise<Part> {
  const { config, network, profile, version, broker, pools, logger, signal } = context;
  const isWhole = config.roles.includes('indexer');
  const reader = createReader({ pools, network });
  const wakeups = createWakeups({ config: context.postgres, pools, network }, logger);
  await openBuses();
  const app = createRest({
    reader,
    heads: broker.heads,
    broker: broker.state,
    archive: context.archive,
    requestSync: async (at) => {
      const [{ sequence }, { incarnation }] = await Promise.all([requestSync(broker.log, at), broker.log.head('SYNC')]);
      return { position: { stream: 'SYNC' as const, incarnation, sequence }, at };
    },
    subscribe: (onEvent) => {
      const ends = [broker.live(onEvent), wakeups.onMoved((moved) => onEvent(JSON.stringify(moved), 'moved'))];
      return () => ends.forEach((end) => end());
    },
    decodeMetadata,
    settings: { ...config, profile },
    cursorKey: config.cursorKey ?? (await broker.secret('cursor')),
    logger,
    clock: () => Date.now(),
    signal,
    version,
    registry: context.leadership.registry,
    operationsOnly: !isWhole,
    registerPages: (pages) => registerPages(pages, () => aboutOf(context, { reader, chainUrl })),
  });
  return listening(app, config.host, {
    isWhole,
    port: config.port,
    close: async () => void (await Promise.all([app.close(), wakeups.close()])),
  });
}

async function listening(
  app: ReturnType<typeof createRest>,
  host: string,
  { isWhole, port, close }: { isWhole: boolean; port: number; close: () => Promise<void> },
): Promise<Part> {
  const start = await app.listen({ host, port });
  const pages = {
    start: `${start}/`,
    api: `${start}/v1/actions`,
    docs: `${start}/docs`,
    openapi: `${start}/openapi.json`,
  };
  const urls = { ...(isWhole ? pages : {}), readiness: `${start}/readyz`, metrics: `${start}/metrics` };
  const failed = once(app.server, 'error').then(([error]: unknown[]) => Promise.reject(toAppError(error)));
  failed.catch(() => undefined);
  return { name: 'REST API', urls, checks: [], gauges: [], failed, stop: close };
}

async function aboutOf(
  { network, nats }: RoleContext,
  { reader, chainUrl }: { reader: Reader; chainUrl: string | null },
): Promise<About> {
  const chain = await reader.read((reading) => ask(reading, new FollowedChain({}))).catch(() => null);
  const isOpen = nats.user !== undefined;
  return {
    network,
    chain,
    nats: isOpen ? nats.url : null,
    natsWebSocket: isOpen ? (nats.wsUrl ?? null) : null,
    chainUrl,
  };
}
