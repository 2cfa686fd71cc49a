import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/** What the start page says of the instance it belongs to. */
export type About = Readonly<{
  network: string;
  chain: string | null;
  /** Where outsiders subscribe; null where the log is external. */
  nats: string | null;
  natsWebSocket: string | null;
  chainUrl: string | null;
}>;

const folder = path.join(import.meta.dirname, 'public');
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const hidden = { schema: { hide: true } } as const;

/**
 * The start page `/`, the interactive `/docs` and what they load, all from this process: no build step, nothing from elsewhere.
 */
export async function registerPages(app: FastifyInstance, about: () => Promise<About>): Promise<void> {
  const library = fileURLToPath(import.meta.resolve('htm/preact/standalone'));
  await app.register(fastifyStatic, { root: folder, serve: false, cacheControl: false, setHeaders: (reply) => reply.setHeader('cache-control', 'no-cache') });
  const asset = async (name: string): Promise<string> => (name === 'htm-preact.js' ? path.basename(library) : name);
  app.get('/', hidden, async (_request, reply) => reply.header('content-security-policy', policy).sendFile('index.html'));
  app.get('/docs', hidden, async (_request, reply) => reply.header('content-security-policy', policy).sendFile('docs.html'));
  app.get('/about.json', hidden, async () => await about());
  for (const name of ['style.css', 'home.js', 'docs.js', 'format.js', 'icon.svg', 'htm-preact.js']) {
    const root = name === 'htm-preact.js' ? path.dirname(library) : folder;
    app.get(`/assets/${name}`, hidden, async (_request, reply) => reply.type(typeOf(name)).sendFile(await asset(name), root));
  }
}

function typeOf(name: string): string {
  if (name.endsWith('.css')) return 'text/css; charset=utf-8';
  return name.endsWith('.svg') ? 'image/svg+xml' : 'text/javascript; charset=utf-8';
}
