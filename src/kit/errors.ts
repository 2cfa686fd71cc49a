/** Every code an error of Annals can have; each edge translates all of them. */
export const errorCodes = [
  'INVALID_ARGUMENT',
  'INVALID_INSTANT',
  'NOT_YET',
  'BEYOND_HEAD',
  'FOREIGN_POSITION',
  'OTHER_INSTANT',
  'HEIGHT_UNKNOWN',
  'OTHER_LOG',
  'BEYOND_LOG',
  'BEHIND',
  'FORGOTTEN',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'CONFLICT',
  'GONE',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'PRECONDITION_FAILED',
  'RANGE_NOT_SATISFIABLE',
  'INSUFFICIENT_STORAGE',
  'SERVICE_UNAVAILABLE',
  'TOO_MANY_REQUESTS',
  'UNAVAILABLE',
  'DEADLINE',
  'CANCELLED',
  'INTERNAL',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** The one error of Annals: a stable code and a sentence that names the action, what went wrong and the remedy. */
export class AppError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/**
 * Any caught value as an AppError; what is not one already has the value as its cause.
 *
 * A `TimeoutError` becomes `DEADLINE` and an `AbortError` becomes `CANCELLED`, whatever their source; anything else is
 * `INTERNAL`.
 */
export function toAppError(caught: unknown): AppError {
  if (caught instanceof AppError) return caught;
  if (!(caught instanceof Error)) return new AppError('INTERNAL', String(caught), { cause: caught });
  return new AppError(codesOfNames[caught.name] ?? 'INTERNAL', caught.message, { cause: caught });
}

/** Returns whether waiting may cure a failure: something is out of reach for now, or was too slow. */
export function passes(caught: unknown): boolean {
  return passingCodes.has(toAppError(caught).code);
}

const passingCodes: ReadonlySet<ErrorCode> = new Set(['UNAVAILABLE', 'DEADLINE']);

const codesOfNames: Readonly<Record<string, ErrorCode | undefined>> = {
  TimeoutError: 'DEADLINE',
  AbortError: 'CANCELLED',
};
