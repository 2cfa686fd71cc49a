import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Logger } from '../../kit/logger.ts';
import { describeApi } from '../http/openapi.ts';
import { type App, errors, plainAnswer } from '../http/schema.ts';
import { createServer } from '../http/server.ts';
import { type Acts, actComponents, addActs } from './acts.ts';
import { guard, tokenScheme } from './guard.ts';
import { addHeldActs } from './held-acts.ts';
import { hookComponents } from './hook-schemas.ts';
import { addHooks, type HookRoutes, hookTag } from './hooks.ts';
import type { ActOperator } from './operation-records.ts';
import type { OperatorWork } from './operations.ts';
import { readOverview } from './overview.ts';
import type { AdminToken } from './settings.ts';
import { adminComponents, lists } from './schemas.ts';
import type { AdminState } from './admin-state.ts';
import { leasesView, type LogEnds, logsView, lossesView, projectionsView, sourcesView, streamsView } from './views.ts';

/** What the administration of an instance shows and works on. */
export type AdminOptions = AdminState &
  Readonly<{
    acts: Acts;
    hooks: HookRoutes['hooks'];
    operations: OperatorWork;
    /** Who a request is of. */
    operatorOf: (request: Pick<FastifyRequest, 'headers'>) => ActOperator;
    /** Where it is on a port: who is let through. */
    tokens?: readonly AdminToken[];
    clock: () => number;
    logger: Logger;
    version: string;
  }>;

const tags = ['State'];
const bodyBytes = 64 * 1024;

/**
 * The administration of an instance: what its parts are doing. Whoever reaches it may do everything that it offers, so
 * it listens on a socket of the owner, or lets through only who has a token.
 */
export function createAdmin(options: AdminOptions): App {
  const { logger, version, tokens } = options;
  const app = createServer({ logger, bodyBytes, guide: '/admin/openapi.json says' });
  app.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  describeApi(app, {
    title: 'Annals administration',
    version,
    description:
      'What an instance is doing, for its operator. It is served on a Unix socket of its owner, and with a token on `ADMIN_PORT`.',
    tags: [
      { name: tags[0] ?? '', description: 'What the parts of the instance are doing.' },
      { name: 'Operations', description: 'Work of an operator, which may take long.' },
      { name: hookTag, description: 'Where events are sent as they are written, and how far that is.' },
    ],
    ...(tokens && { securitySchemes: tokenScheme }),
    components: [...adminComponents, ...actComponents, ...hookComponents],
  });
  void app.register(async (routes: App) => {
    if (tokens) guard(routes, tokens);
    documentBodies(routes);
    addState(routes, options);
    addOverview(routes, options);
    addActs(routes, options);
    addHeldActs(routes, options);
    addHooks(routes, options);
    addDocument(routes);
  });
  return app;
}

/** Every route that may change something reads what comes with it as JSON, whether or not it needs a body. */
function documentBodies(app: App): void {
  app.addHook('onRoute', (route) => {
    if (['GET', 'HEAD', 'OPTIONS'].includes(String(route.method))) return;
    const { response = {}, ...schema } = (route.schema ?? {}) as { response?: object };
    Object.assign(route, { schema: { ...schema, response: { ...response, ...errors(400, 413, 415) } } });
  });
}

function addState(app: App, options: AdminOptions): void {
  const { generations, heads, lag, rounds, archive, logs, leases, clock } = options;
  const ends = async (): Promise<LogEnds> => ({ heads: await heads(), lagMs: lag.lagMs });
  app.get('/admin/v1/projections', { schema: listing('projections', 'Read models and their lag') }, async () =>
    projectionsView(await generations(), await ends()),
  );
  app.get('/admin/v1/streams', { schema: listing('streams', 'Streams of the log and their archives') }, async () =>
    streamsView(await archive(), await ends()),
  );
  app.get('/admin/v1/sources', { schema: listing('sources', 'Sources of sync and their last rounds') }, async () =>
    sourcesView(await rounds(), clock()),
  );
  app.get('/admin/v1/leases', { schema: listing('leases', 'Leases and the processes that hold them') }, async () =>
    leasesView(await leases.list()),
  );
  app.get('/admin/v1/logs', { schema: listing('logs', 'How far the proven logs are signed') }, async () =>
    logsView(await logs(), await ends()),
  );
  app.get('/admin/v1/losses', { schema: listing('losses', 'Events that no store has any more') }, async () =>
    lossesView(await archive()),
  );
}

function addOverview(app: App, options: AdminOptions): void {
  const schema = {
    tags,
    operationId: 'status',
    summary: 'All of it at one glance, as `annals status --json` prints it',
    response: {
      200: plainAnswer('Streams, read models, archive, sync.', Type.Unsafe<object>({ type: 'object' })),
      ...errors(),
    },
  };
  app.get('/admin/v1/status', { schema }, async () => await readOverview(options));
}

function listing<Name extends keyof typeof lists>(name: Name, summary: string) {
  return {
    tags,
    operationId: name,
    summary,
    response: { 200: plainAnswer(`${summary}.`, lists[name].ref), ...errors() },
  };
}

function addDocument(app: App): void {
  const schema = {
    tags,
    operationId: 'openapi',
    summary: 'This document',
    response: { 200: plainAnswer('OpenAPI 3.0.', Type.Unsafe<object>({ type: 'object', additionalProperties: true })) },
  };
  app.get('/admin/openapi.json', { schema }, () => app.swagger());
}
