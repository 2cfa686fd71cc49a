import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type {} from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

/** What the start page says of the instance it belongs to. */
export type About = Readonly<{
  network: string;
  chain: string | null;
  /** Where outsiders subscribe; null where the log is external. */
  nats: string | null;
  natsWebSocket: string | null;
  /** The local network's chain REST; null for any other chain. */
  chainUrl: string | null;
}>;

const folder = path.join(import.meta.dirname, 'public');
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Route of each file; all of them are read once, when the pages are registered. */
const files: Readonly<Record<string, string>> = {
  '/': path.join(folder, 'index.html'),
  '/docs': path.join(folder, 'docs.html'),
  '/assets/style.css': path.join(folder, 'style.css'),
  '/assets/home.js': path.join(folder, 'home.js'),
  '/assets/docs.js': path.join(folder, 'docs.js'),
  '/assets/format.js': path.join(folder, 'format.js'),
  '/assets/icon.svg': path.join(folder, 'icon.svg'),
  '/assets/htm-preact.js': fileURLToPath(import.meta.resolve('htm/preact/standalone')),
};

/**
 * The start page `/`, the interactive `/docs` and what they load, all from this process: no build step, nothing from
 * elsewhere.
 */
export async function registerPages(app: FastifyInstance, about: () => Promise<About>): Promise<void> {
  for (const [route, file] of Object.entries(files)) {
    const bytes = await readFile(file);
    const headers = {
      'content-type': types[path.extname(file)] ?? types['.js'],
      'cache-control': 'no-cache',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
    };
    app.get(route, { schema: { hide: true } }, async (_request, reply) => reply.headers(headers).send(bytes));
  }
  app.get('/about.json', { schema: { hide: true } }, async () => await about());
}
