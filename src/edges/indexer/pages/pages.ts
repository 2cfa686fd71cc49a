import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { serveDocs, serveFiles } from '../../http/pages/pages.ts';

/** What the start page says of the instance it belongs to. */
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

/** Serves the start page `/`, the interactive `/docs` and what they load. */
export async function registerPages(app: FastifyInstance, about: () => Promise<About>): Promise<void> {
  await serveDocs(app, { page: '/docs', document: '/openapi.json' });
  await serveFiles(app, {
    '/': path.join(folder, 'index.html'),
    '/assets/home.js': path.join(folder, 'home.js'),
    '/assets/format.js': path.join(folder, 'format.js'),
  });
  app.get('/about.json', { schema: { hide: true } }, async () => await about());
}
