import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AppError } from '../../kit/errors.ts';

type Known = Readonly<{ pattern: RegExp; methods: Set<string> }>;

/**
 * Answers requests that no route handles: 405 with `Allow` where the path exists for other methods, else 404. `OPTIONS`
 * of a path that exists is answered with `Allow` alone, or by what answers requests of other origins.
 *
 * `guide` is the start of the sentence that refers to the list of paths: `/openapi.json says`. Call it before the
 * routes are added: it records each of them.
 */
export function answerUnknownPaths(app: FastifyInstance, guide: string): void {
  const known = new Map<string, Known>();
  app.addHook('onRoute', ({ url, method }: RouteOptions) => {
    if (url === '*') return;
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set(['OPTIONS']) };
    for (const one of [method].flat()) path.methods.add(one);
    known.set(url, path);
  });
  const allowedAt = (request: FastifyRequest): string => {
    const path = request.url.split('?', 1)[0] ?? '';
    const allowed = [...known.values()]
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ methods }) => [...methods]);
    return [...new Set(allowed)].toSorted().join(', ');
  };
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const allow = allowedAt(request);
    if (allow === '') throw new AppError('NOT_FOUND', `Nothing lies at this path; ${guide} what there is.`);
    reply.header('allow', allow);
    if (request.method === 'OPTIONS') return reply.code(204).send();
    throw new AppError('METHOD_NOT_ALLOWED', `This path does not take the method; it takes ${allow}.`);
  };
  app.setNotFoundHandler(refuse);
  app.addHook('onRequest', async (request, reply) => {
    // Fastify wants a body of this method before it looks whether any route takes it.
    if (request.is404 && request.method === 'QUERY') refuse(request, reply);
    const allow = request.method === 'OPTIONS' ? allowedAt(request) : '';
    if (allow !== '') reply.header('allow', allow);
  });
}

/** A route's path as an expression: `:name` is one segment, `*` anything. */
function patternOf(url: string): RegExp {
  const source = url
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*/g, '.*');
  return new RegExp(`^${source}$`);
}
