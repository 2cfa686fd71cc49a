import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorCode, toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { toDatabaseError } from '../../engine/models/database-error.ts';
import { isNamedRather } from './accept.ts';
import { asPage } from './pages/pages.ts';

/** HTTP status of every code (spec 2, open points: error body). */
export const statusOf = {
  INVALID_ARGUMENT: 400,
  INVALID_INSTANT: 400,
  NOT_YET: 400,
  BEYOND_HEAD: 400,
  FOREIGN_POSITION: 400,
  OTHER_INSTANT: 400,
  HEIGHT_UNKNOWN: 409,
  OTHER_LOG: 412,
  BEYOND_LOG: 412,
  BEHIND: 503,
  FORGOTTEN: 410,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  GONE: 410,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  PRECONDITION_FAILED: 412,
  RANGE_NOT_SATISFIABLE: 416,
  INSUFFICIENT_STORAGE: 507,
  SERVICE_UNAVAILABLE: 503,
  TOO_MANY_REQUESTS: 429,
  UNAVAILABLE: 503,
  DEADLINE: 504,
  CANCELLED: 499,
  INTERNAL: 500,
} as const satisfies Record<ErrorCode, number>;

/** Seconds after which a caller may try again when a store or the server itself could not answer. */
export const retryAfterSeconds = 5;

/** The body of an error. */
export type ErrorBody = Readonly<{ error: string; code: ErrorCode }>;

/** The body of an error; the message of an `INTERNAL` one stays here. */
export function bodyOf(error: AppError): ErrorBody {
  const message =
    error.code === 'INTERNAL'
      ? 'Something went wrong on our side; the detail is in our log. Try again later.'
      : error.message;
  return { error: message, code: error.code };
}

/**
 * The page for a person who follows an address that nothing lies at: its path, and the route that refused it, if any
 * was there. Undefined where a browser gets JSON as everybody does.
 */
export type RefusalPage = (path: string, route: string | undefined) => string | undefined;

/** What errors are answered by beside the log: the limit of a body where any is read, and the page for browsers. */
type ErrorOptions = Readonly<{ bodyBytes?: number; refusalPage?: RefusalPage }>;

/**
 * Answers every error of a route in one shape; an error that the caller did not cause is logged with its detail.
 *
 * A database that is away is `UNAVAILABLE`, not `INTERNAL`, whichever library reports it.
 */
export function createErrorHandler(
  logger: Logger,
  { bodyBytes, refusalPage }: ErrorOptions = {},
): (caught: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (caught, request, reply) => {
    const error = toRestError(caught, bodyBytes);
    const status = statusOf[error.code];
    if (status >= 500)
      logger[error.code === 'INTERNAL' ? 'error' : 'warn'](
        { err: caught, route: request.routeOptions.url },
        'request failed',
      );
    if (status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', String(retryAfterSeconds));
    const page = isAddressRefused(error) ? pageFor(request, refusalPage) : undefined;
    if (page !== undefined) reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept'].flat().join(', '));
    if (page && acceptsPage(request)) asPage(reply.code(status)).send(page);
    else reply.code(status).send(bodyOf(error));
  };
}

const isAddressRefused = ({ code }: AppError): boolean => code === 'NOT_FOUND' || code === 'INVALID_ARGUMENT';

function pageFor({ url, routeOptions }: FastifyRequest, refusalPage: RefusalPage | undefined): string | undefined {
  return refusalPage?.(url.split('?', 1)[0] ?? '', routeOptions?.url);
}

/** A browser that opens an address names HTML; its scripts, and programs, name JSON or anything. */
const acceptsPage = (request: FastifyRequest): boolean => isNamedRather(request, 'text/html', 'application/json');

/**
 * Any caught value as the error that its caller reads: the server's own refusals and lost stores have codes of ours.
 */
export function toRestError(thrown: unknown, bodyBytes?: number): AppError {
  const caught = thrown instanceof Error ? toDatabaseError(thrown) : thrown;
  if (caught instanceof AppError) return caught.code === 'UNAVAILABLE' && caught.cause ? withoutDetail(caught) : caught;
  if (caught instanceof Error && codeOf(caught) === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(bodyBytes);
  const refusal = caught instanceof Error ? refusals[codeOf(caught)] : undefined;
  if (refusal) return new AppError(refusal[0], refusal[1], { cause: caught });
  if (isClientError(caught))
    return new AppError('INVALID_ARGUMENT', `The request cannot be read: ${caught.message}`, { cause: caught });
  const { code } = toAppError(caught);
  const message = ended[code] ?? (caught instanceof Error ? caught.message : String(caught));
  return new AppError(code, message, { cause: caught });
}

/** The words for a caller whose work a library abandoned, instead of that library's own. */
const ended: Readonly<Partial<Record<ErrorCode, string>>> = {
  DEADLINE: 'The answer took too long; try again later.',
  CANCELLED: 'The work was ended before there was an answer; try again.',
};

function tooLarge(bodyBytes: number | undefined): AppError {
  if (bodyBytes === undefined)
    return new AppError('INVALID_ARGUMENT', 'The request body is too large; this API reads none.');
  return new AppError('PAYLOAD_TOO_LARGE', `The request body is too large; it may have ${bodyBytes} bytes.`);
}

/** A store's own message names addresses, which belong only in the log. */
function withoutDetail(error: AppError): AppError {
  return new AppError('UNAVAILABLE', 'The database or the log does not answer; try again shortly.', { cause: error });
}

const refusals: Readonly<Record<string, readonly [ErrorCode, string] | undefined>> = {
  FST_ERR_BAD_URL: ['NOT_FOUND', 'Nothing lies at this path; its percent-encoding cannot be read.'],
  FST_ERR_MAX_PARAM_LENGTH: ['NOT_FOUND', 'Nothing lies at this path; no id is that long.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'The body is of a type that is not read here; send JSON.'],
  FST_ERR_HANDLER_TIMEOUT: [
    'UNAVAILABLE',
    'The answer took too long; try again, with a narrower question where there is one.',
  ],
};

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function isClientError(caught: unknown): caught is FastifyError {
  if (!(caught instanceof Error) || !('statusCode' in caught)) return false;
  return typeof caught.statusCode === 'number' && caught.statusCode >= 400 && caught.statusCode < 500;
}

/** The refusal of a client that exceeds its rate; `after` holds in words when it may come back. */
export function tooMany(_request: unknown, { after }: { after: string }): AppError {
  return new AppError('TOO_MANY_REQUESTS', `Too many of these requests; try again in ${after}.`);
}
