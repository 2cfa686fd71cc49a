import type { FastifyRequest } from 'fastify';
import { AppError } from '../../kit/errors.ts';
import { isBearer } from '../http/bearer.ts';
import { type App, errors } from '../http/schema.ts';
import type { ActOperator } from './operation-records.ts';
import type { AdminToken } from './settings.ts';

/** Requests of one address a minute, with or without a token. */
const mostPerMinute = 600;

/** The scheme of the guarded document. */
export const tokenScheme = {
  adminToken: { type: 'http', scheme: 'bearer', description: 'One of ADMIN_TOKEN.' },
} as const;

/**
 * Lets only requests with one of the tokens through, and so many of one address: others are answered with 401, or 429,
 * before anything of their bodies is read. Call it before routes are added.
 */
export function guard(app: App, tokens: readonly AdminToken[]): void {
  app.addHook('onRoute', (route) => {
    const { response = {}, ...schema } = (route.schema ?? {}) as { response?: object };
    const guarded = { ...schema, security: [{ adminToken: [] }], response: { ...response, ...errors(401, 429) } };
    Object.assign(route, { schema: guarded });
  });
  app.addHook('onRequest', app.rateLimit({ max: mostPerMinute, timeWindow: '1 minute' }));
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (holderOf(tokens, headers.authorization)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new AppError('UNAUTHORIZED', 'The administration wants the header Authorization: Bearer with its token.');
  });
}

/** Who a request is of that was let through. */
export function tokenHolder(tokens: readonly AdminToken[]): (request: Pick<FastifyRequest, 'headers'>) => ActOperator {
  return ({ headers }) => ({ via: 'token', name: holderOf(tokens, headers.authorization)?.name ?? 'unknown' });
}

/** Compares with each token, so that the duration does not depend on which one it is. */
function holderOf(tokens: readonly AdminToken[], header: string | undefined): AdminToken | undefined {
  return tokens.filter(({ token }) => isBearer(header, token))[0];
}
