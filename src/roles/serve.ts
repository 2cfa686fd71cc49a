import { once } from 'node:events';
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { listenAt } from '../edges/http/server.ts';
import { toAppError } from '../kit/errors.ts';
import type { Part } from './role.ts';

/** Where an app listens, and what can be reached there. */
export type Serving = Readonly<{
  host: string;
  port: number;
  /** Addresses by name, from that of the server. */
  urls: (base: string) => Readonly<Record<string, string>>;
}>;

/** Starts an app and returns it as a part that runs; it fails when its server does. */
export async function serve(
  name: string,
  app: Pick<FastifyInstance, 'listen' | 'close' | 'server'>,
  { host, port, urls }: Serving,
): Promise<Part> {
  const base = await listenAt(app, { host, port });
  const failed = failureOf(app.server);
  return { name, urls: urls(base), checks: [], gauges: [], failed, stop: async () => await app.close() };
}

/** Fails once a server does. */
export function failureOf(server: Server): Promise<never> {
  const failed = once(server, 'error').then(([error]: unknown[]) => Promise.reject(toAppError(error)));
  failed.catch(() => undefined);
  return failed;
}
