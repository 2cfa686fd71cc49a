import type { FastifyRequest } from 'fastify';

type Accepting = Pick<FastifyRequest, 'headers'>;

/**
 * Whether a caller names a media type in `Accept` and wants it at least as much as another one: the type is not what
 * callers get that name neither, nor those that take anything.
 *
 * @example isNamedRather(request, 'text/event-stream', 'application/json')
 */
export function isNamedRather({ headers: { accept = '' } }: Accepting, type: string, other: string): boolean {
  const wanted = qualityOf(accept, type);
  return wanted > 0 && wanted >= qualityOf(accept, other);
}

/** How much a caller wants a type that it names, from 0 to 1 (RFC 9110, 12.4.2); 0 where it does not name it. */
function qualityOf(accept: string, type: string): number {
  const qualities = accept.split(',').map((range) => {
    const [named = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (named !== type) return 0;
    const quality = parameters.find((one) => /^q\s*=/.test(one))?.split('=')[1] ?? '1';
    return Math.min(Number(quality) || 0, 1);
  });
  return Math.max(0, ...qualities);
}
