import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../kit/errors.ts';
import { callerOf } from '../../../kit/net-address.ts';
import type { App } from '../schema.ts';

/** So many requests of one caller in so many seconds. */
type Rate = Readonly<{ quota: number; windowSeconds: number }>;

type Window = { began: number; left: number };

/** Callers that are counted at once; the one that has been away longest is forgotten for a new one. */
const mostCallers = 50_000;

/**
 * Bounds the requests of one caller to the routes of a scope, and reports in `RateLimit` and `RateLimit-Policy` how
 * many are left (draft-ietf-httpapi-ratelimit-headers); above, `TOO_MANY_REQUESTS` with `Retry-After`.
 *
 * A caller is an address, of IPv6 its first 64 bits. Counts are of this process.
 */
export function limitRate(app: App, { quota, windowSeconds }: Rate): void {
  const windows = new LRUCache<string, Window>({ max: mostCallers });
  const policy = `"default";q=${quota};w=${windowSeconds}`;
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const now = performance.now() / 1000;
    const caller = callerOf(request.ip);
    let window = windows.get(caller);
    if (window === undefined || now - window.began >= windowSeconds) window = { began: now, left: quota };
    windows.set(caller, window);
    const isOver = window.left === 0;
    window.left = Math.max(0, window.left - 1);
    const seconds = Math.max(1, Math.ceil(windowSeconds - (now - window.began)));
    reply.headers({ 'ratelimit-policy': policy, ratelimit: `"default";r=${window.left};t=${seconds}` });
    if (!isOver) return;
    reply.header('retry-after', String(seconds));
    throw new AppError('TOO_MANY_REQUESTS', `Too many requests; try again in ${seconds} seconds.`);
  });
}
