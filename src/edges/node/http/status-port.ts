import fastify, { type FastifyInstance } from 'fastify';
import { toAppError } from '../../../kit/errors.ts';
import { ListServicesResponseSchema, StatusResponseSchema } from '../../gen/supernode/supernode_pb.ts';
import { type ListenAddress, listen } from '../../../kit/listen.ts';
import type { Logger } from '../../../kit/logger.ts';
import { isActionId } from '../../chain/rest/values.ts';
import type { ScrubState } from '../storage/scrub-state.ts';
import { FilesOfNode } from '../../../projections/storage/queries.ts';
import { runQuery } from '../../bus.ts';
import type { Reader } from '../../../engine/models/read/reading.ts';
import { serveDocs } from '../../http/pages/pages.ts';
import { readNoBodies } from '../../http/server.ts';
import type { GiveStatus, ServicesServed } from '../services.ts';
import { documentOf } from './document.ts';
import { protoJson } from './proto-json.ts';

/** The answers of a node's HTTP port, and its address. */
export type StatusPortOptions = Readonly<{
  place: ListenAddress;
  giveStatus: GiveStatus;
  /** Of the node. */
  account: string;
  /** Where it is read what the node holds, or held and lost; without it, that is nothing. */
  models?: Pick<Reader, 'read'> | undefined;
  /** How the last reading of all its pieces ended; undefined before there was one. */
  scrubbed?: () => ScrubState | undefined;
  services: ServicesServed;
  version: string;
  logger: Logger;
  /** A request must be complete after so long. */
  silenceMs?: number | undefined;
}>;

const cors = {
  'access-control-allow-headers':
    'Accept, Content-Type, Content-Length, Accept-Encoding, Authorization, X-Lumera-Recovery-Token',
  'access-control-allow-methods': 'GET, POST, PUT, DELETE, OPTIONS',
  'access-control-allow-origin': '*',
};
/** Where real nodes have theirs. */
const pagePath = '/swagger-ui/';
const mostFiles = 1000;
const bodyBytes = 64 * 1024;
const headerBytes = 16 * 1024;
const usualSilenceMs = 15_000;
const idleMs = 60_000;

/** What real nodes answer instead: a code of gRPC beside the HTTP status. */
const refusals = {
  badParameter: [400, 3, 'include_p2p_metrics takes true or false'],
  badPage: [400, 3, 'limit takes 1 to 1000, after an action id'],
  notFound: [404, 5, 'Not Found'],
  notAllowed: [501, 12, 'Method Not Allowed'],
  away: [503, 14, 'What this node holds cannot be read now; try again shortly.'],
  failed: [500, 13, 'Something went wrong on our side; try again later.'],
} as const;

class Refusal extends Error {
  readonly kind: keyof typeof refusals;
  constructor(kind: keyof typeof refusals) {
    super(refusals[kind][2]);
    this.kind = kind;
  }
}

/**
 * Opens the HTTP port of a node: status and services in the JSON of real nodes, and their description.
 *
 * Fails with `UNAVAILABLE` when the port is in use.
 */
export async function openStatusPort({
  place,
  giveStatus,
  account,
  models,
  scrubbed = () => undefined,
  services,
  version,
  logger,
  silenceMs = usualSilenceMs,
}: StatusPortOptions): Promise<{
  port: number;
  close: () => Promise<void>;
}> {
  const app = fastify({
    exposeHeadRoutes: false,
    bodyLimit: bodyBytes,
    requestTimeout: silenceMs,
    keepAliveTimeout: idleMs,
    http: { maxHeaderSize: headerBytes, headersTimeout: silenceMs, connectionsCheckingInterval: silenceMs },
    forceCloseConnections: true,
    // As in `edges/http/server.ts`.
    pluginTimeout: 0,
  });
  readNoBodies(app);
  refuseInForm(app, logger);
  const document = documentOf(version);
  const answers: Readonly<Record<string, (query: URLSearchParams) => object | Promise<object>>> = {
    '/api/v1/status': async (query) => protoJson(StatusResponseSchema, await giveStatus(isRequestedFor(query))),
    '/api/v1/services': () => protoJson(ListServicesResponseSchema, services),
    '/api/v1/files': async (query) => {
      const page = pageIn(query);
      const { files, next } = models ? await filesOf(account, page, models) : { files: [], next: undefined };
      const scrub = scrubbed();
      return { node: account, files, ...(next !== undefined && { next }), ...(scrub && { scrub: scrubShown(scrub) }) };
    },
    '/swagger.json': () => document,
  };
  for (const [path, answer] of Object.entries(answers)) {
    app.get(path, async ({ url }) => await answer(new URL(url, 'http://node').searchParams));
    app.route({ method: ['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'], url: path, handler: () => refuse('notAllowed') });
  }
  await serveDocs(app, { page: pagePath, document: '/swagger.json' });
  app.get('/', async (_request, reply) => await reply.redirect(pagePath, 302));
  await app.ready();
  const port = await listen(app.server, place);
  return { port, close: async () => await app.close() };
}

type FilesPage = Readonly<{ after: string | undefined; limit: number }>;

function pageIn(query: URLSearchParams): FilesPage {
  const [after, limit = String(mostFiles)] = [query.get('after') ?? undefined, query.get('limit') ?? undefined];
  const isLimit = /^[1-9]\d{0,3}$/.test(limit) && Number(limit) <= mostFiles;
  return isLimit && (after === undefined || isActionId(after)) ? { after, limit: Number(limit) } : refuse('badPage');
}

/** The files of a node according to the log, without names: those are only its creator's and the chain's. */
async function filesOf(node: string, { after, limit }: FilesPage, { read }: Pick<Reader, 'read'>) {
  const query = new FilesOfNode({ node, after, limit: limit + 1 });
  const rows = await read(async (reading) => await runQuery(reading, query)).catch((caught: unknown) =>
    toAppError(caught).code === 'UNAVAILABLE' ? refuse('away') : Promise.reject(caught),
  );
  const files = rows.slice(0, limit).map(({ action, bytes, pieces, stored }) => ({
    action_id: action,
    bytes: String(bytes),
    pieces,
    state: stored ? 'stored' : 'lost',
  }));
  return { files, next: rows.length > limit ? files.at(-1)?.action_id : undefined };
}

function scrubShown({ startedAt, finishedAt, pieces, damaged, mended }: ScrubState) {
  return { started_at: startedAt, finished_at: finishedAt, pieces, damaged, mended };
}

/** Real nodes take what Go takes for a boolean. */
function isRequestedFor(query: URLSearchParams): boolean {
  const requested = query.get('include_p2p_metrics') ?? query.get('includeP2pMetrics') ?? 'false';
  if (/^(1|t|T|true|TRUE|True)$/.test(requested)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(requested)) return false;
  return refuse('badParameter');
}

function refuse(kind: keyof typeof refusals): never {
  throw new Refusal(kind);
}

function refuseInForm(app: FastifyInstance, logger: Logger): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(cors);
    if (request.method === 'OPTIONS') await reply.code(200).send();
  });
  app.setNotFoundHandler((request, reply) => {
    if (request.url.startsWith('/api/')) return refuse('notFound');
    return reply.code(404).type('text/plain; charset=utf-8').send('404 page not found\n');
  });
  app.setErrorHandler((caught: Error & { statusCode?: number }, request, reply) => {
    const isTheirs = (caught.statusCode ?? 500) < 500;
    if (!(caught instanceof Refusal) && !isTheirs)
      logger.error({ err: toAppError(caught), path: request.url }, 'status could not be given');
    const [status, code, message] =
      caught instanceof Refusal
        ? refusals[caught.kind]
        : isTheirs
          ? ([caught.statusCode ?? 400, 3, 'The request cannot be read'] as const)
          : refusals.failed;
    return reply.code(status).send({ code, message, details: [] });
  });
}
