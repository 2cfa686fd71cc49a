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
import type { AdminToken } from './settings.ts';
import { addState, stateComponents, stateTag, type StateOptions } from './state.ts';

/** What the administration of an instance shows and works on. */
export type AdminOptions = StateOptions &
  Readonly<{
    acts: Acts;
    hooks: HookRoutes['hooks'];
    operations: OperatorWork;
    /** Who a request is of. */
    operatorOf: (request: Pick<FastifyRequest, 'headers'>) => ActOperator;
    /** Where it is on a port: who is let through. */
    tokens?: readonly AdminToken[];
    logger: Logger;
    version: string;
  }>;

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
      { name: stateTag, description: 'What the parts of the instance are doing.' },
      { name: 'Operations', description: 'Work of an operator, which may take long.' },
      { name: hookTag, description: 'Where events are sent as they are written, and how far that is.' },
    ],
    ...(tokens && { securitySchemes: tokenScheme }),
    components: [...stateComponents, ...actComponents, ...hookComponents],
  });
  void app.register(async (routes: App) => {
    if (tokens) guard(routes, tokens);
    documentBodies(routes);
    addState(routes, options);
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

function addDocument(app: App): void {
  const schema = {
    tags: [stateTag],
    operationId: 'openapi',
    summary: 'This document',
    response: { 200: plainAnswer('OpenAPI 3.0.', Type.Unsafe<object>({ type: 'object', additionalProperties: true })) },
  };
  app.get('/admin/openapi.json', { schema }, () => app.swagger());
}
