import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { ChainActivity } from './chain-activity.ts';
import { serveDocs, serveFiles } from '../../http/pages/pages.ts';

/** The start page's description of its instance. */
export type About = Readonly<{
  network: string;
  chain: string | null;
  /** Where outsiders subscribe; null where the log is external. */
  nats: string | null;
  natsWebSocket: string | null;
  /** The local network's chain REST; null for any other chain. */
  chainUrl: string | null;
  /** The local network's gateway; null for any other, whose address inside is not that outside. */
  gatewayUrl: string | null;
}>;

const folder = path.join(import.meta.dirname, 'public');

/**
 * The sources of the pages: a description of the instance, and, on the local network, the latest activity on its chain.
 */
type PageSources = Readonly<{
  about: () => Promise<About>;
  activity: (() => Promise<ChainActivity>) | undefined;
}>;

/** Serves the start page `/`, the interactive `/docs` and what they load. */
export async function registerPages(app: FastifyInstance, { about, activity }: PageSources): Promise<void> {
  await serveDocs(app, { page: '/docs', document: '/openapi.json' });
  await serveFiles(app, {
    '/': path.join(folder, 'index.html'),
    '/assets/home.js': path.join(folder, 'home.js'),
    '/assets/chain.js': path.join(folder, 'chain.js'),
    '/assets/format.js': path.join(folder, 'format.js'),
  });
  app.get('/about.json', { schema: { hide: true } }, async () => await about());
  if (activity) app.get('/chain.json', { schema: { hide: true } }, async () => await activity());
}
