import { once } from 'node:events';
import type { FastifyInstance } from 'fastify';
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
  const base = await app.listen({ host, port });
  const failed = once(app.server, 'error').then(([error]: unknown[]) => Promise.reject(toAppError(error)));
  failed.catch(() => undefined);
  return { name, urls: urls(base), checks: [], gauges: [], failed, stop: async () => await app.close() };
}
