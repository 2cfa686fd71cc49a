import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type {} from '@fastify/swagger';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { namesTag } from '../if-none-match.ts';

const folder = path.join(import.meta.dirname, 'public');
const policy = [
  "default-src 'self'",
  "object-src 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');
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

/** The verifier of proofs, which pages and the command line share. */
export const verifierFile = path.join(folder, 'verify.js');

/** Where the page lies that describes an API and lets one try it, and the OpenAPI document that it shows. */
export type Docs = Readonly<{ page: string; document: string }>;

/**
 * Serves files under their routes, from this process alone: no build step, nothing from elsewhere.
 *
 * All of them are read once, now; a browser that has one still asks whether it changed, but not for the icon, which it
 * takes anew with every address that a page shows.
 */
export async function serveFiles(app: FastifyInstance, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [route, file] of Object.entries(files)) {
    const bytes = await readFile(file);
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const extension = path.extname(file);
    const headers = {
      'content-type': types[extension] ?? types['.js'],
      etag,
      ...(extension === '.svg' && { 'cache-control': 'public, max-age=86400' }),
    };
    app.get(route, { schema: { hide: true } }, async (request, reply) => {
      pageHeaders(reply).headers(headers);
      return namesTag(request.headers['if-none-match'], etag) ? await reply.code(304).send() : await reply.send(bytes);
    });
  }
}

/** Serves the page of an API, and what every page of ours loads. */
export async function serveDocs(app: FastifyInstance, { page, document }: Docs): Promise<void> {
  await serveFiles(app, { ...shared, '/assets/docs.js': path.join(folder, 'docs.js') });
  const html = (await readFile(path.join(folder, 'docs.html'), 'utf8')).replaceAll('/openapi.json', document);
  app.get(page, { schema: { hide: true } }, async (_request, reply) => await sendPage(reply, html));
}

/** Sends a page under the policy of all pages: it loads from its own host alone, and no script or style within it. */
export async function sendPage(reply: FastifyReply, html: string): Promise<void> {
  await asPage(reply).send(html);
}

/** Makes a reply one of a page, whose HTML is to be sent. */
export function asPage(reply: FastifyReply): FastifyReply {
  return pageHeaders(reply).type(types['.html'] ?? '');
}

function pageHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
  });
}
