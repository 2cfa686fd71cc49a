import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type {} from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

const folder = path.join(import.meta.dirname, 'public');
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What every page of ours loads. */
const shared: Readonly<Record<string, string>> = {
  '/assets/style.css': path.join(folder, 'style.css'),
  '/assets/icon.svg': path.join(folder, 'icon.svg'),
  '/assets/htm-preact.js': fileURLToPath(import.meta.resolve('htm/preact/standalone')),
};

/** Where the page lies that describes an API and lets one try it, and the OpenAPI document that it shows. */
export type Docs = Readonly<{ page: string; document: string }>;

/**
 * Serves files under their routes, from this process alone: no build step, nothing from elsewhere.
 *
 * All of them are read once, now.
 */
export async function serveFiles(app: FastifyInstance, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [route, file] of Object.entries(files)) serve(app, route, file, await readFile(file));
}

/** Serves the page of an API, and what every page of ours loads. */
export async function serveDocs(app: FastifyInstance, { page, document }: Docs): Promise<void> {
  await serveFiles(app, { ...shared, '/assets/docs.js': path.join(folder, 'docs.js') });
  const html = await readFile(path.join(folder, 'docs.html'), 'utf8');
  serve(app, page, 'docs.html', Buffer.from(html.replaceAll('/openapi.json', document)));
}

function serve(app: FastifyInstance, route: string, file: string, bytes: Buffer): void {
  const headers = {
    'content-type': types[path.extname(file)] ?? types['.js'],
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
  };
  app.get(route, { schema: { hide: true } }, async (_request, reply) => reply.headers(headers).send(bytes));
}
