import { limitConnections } from '../../../kit/connection-limits.ts';
import type { Server } from 'node:http';
import { listen } from '../../../kit/listen.ts';
import type { Logger } from '../../../kit/logger.ts';
import { hostPort } from '../../../kit/net-address.ts';
import type { Origins } from '../../../kit/setting-forms.ts';
import { methods } from '../methods/all.ts';
import { type Catalogue, catalogueOf } from './catalogue.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { Filters } from './filters.ts';
import { createHttpServer } from './http-server.ts';
import { CallIntake, conditionBounds, unreadBounds } from './intake.ts';
import type { ServedContext } from './registry.ts';
import { createWebSocketServer } from './websocket-server.ts';

/** Where JSON-RPC is served. */
export type RpcPosition = Readonly<{
  host: string;
  httpPort: number;
  wsPort: number;
  /** Origins of web pages that may send requests; all by default. */
  origins?: Origins;
  /** Proxies that represent many clients; the bound of connections of one address is not theirs. */
  trustedProxies?: readonly string[];
  logger: Logger;
  /** Time limit of a request or a complete batch, where it differs from the usual one. */
  messageMs?: number;
  /** Called with each request. */
  onAsked?: () => void;
}>;

/** Connections to one of the ports, those without a WebSocket included. */
const connections = { most: 4_096, mostPerAddress: 1_024 } as const;

/** JSON-RPC that is served, over HTTP and over WebSocket. */
export type ServedRpc = Readonly<{ url: string; wsUrl: string; stop: () => Promise<void> }>;

/**
 * Serves the methods over HTTP and WebSocket, both ports or none.
 *
 * Fails with `UNAVAILABLE` when one of the ports is in use.
 *
 * @example
 * const { url, wsUrl, stop } = await serveRpc(context, { host: '127.0.0.1', httpPort: 8545, wsPort: 8546, logger });
 */
export async function serveRpc(
  context: Omit<ServedContext, 'filters' | 'conditions' | 'catalogue'>,
  position: RpcPosition,
): Promise<ServedRpc> {
  const { host, httpPort, wsPort, origins = '*', trustedProxies = [], logger, messageMs, onAsked } = position;
  const filters = new Filters();
  const conditions = new CallIntake(conditionBounds);
  const { version, enabled } = context;
  let url = '';
  const catalogue = (): Catalogue => catalogueOf(methods, { version, url, enabled });
  const dispatcher = createDispatcher(methods, { ...context, filters, conditions, catalogue }, { logger, messageMs });
  const dispatch: Dispatcher = async (text, sender) => {
    onAsked?.();
    return await dispatcher(text, sender);
  };
  const serving = { dispatch, origins, intake: new CallIntake(), unread: new CallIntake(unreadBounds) };
  const [http, ws] = [createHttpServer(serving), createWebSocketServer(serving, { trustedProxies })];
  for (const server of [http, ws]) limitConnections(server, { ...connections, trustedProxies });
  const stop = async (): Promise<void> => {
    filters.close();
    await Promise.all([http, ws].map(closed));
  };
  const remedy = (setting: string): string => `Stop what uses it, or set ${setting}.`;
  const httpPosition = { host, port: httpPort, what: 'JSON-RPC over HTTP', remedy: remedy('EVM_HTTP_PORT') };
  const wsPosition = { host, port: wsPort, what: 'JSON-RPC over WebSocket', remedy: remedy('EVM_WS_PORT') };
  try {
    url = `http://${hostPort(host, await listen(http, httpPosition))}`;
    const wsUrl = `ws://${hostPort(host, await listen(ws, wsPosition))}`;
    return { url, wsUrl, stop };
  } catch (caught) {
    await stop();
    throw caught;
  }
}

async function closed(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
