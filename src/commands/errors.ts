/** Every code an error of Annals can have; each edge translates all of them. */
export const errorCodes = [
  'INVALID_ARGUMENT',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'CONFLICT',
  'TOO_MANY_REQUESTS',
  'UNAVAILABLE',
  'INTERNAL',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** The one error of Annals: a stable code and a sentence that says what was done, what was found and what to do. */
export class AppError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/** Any caught value as an AppError; what is not one already becomes `INTERNAL` with the value as its cause. */
export function toAppError(caught: unknown): AppError {
  if (caught instanceof AppError) return caught;
  const message = caught instanceof Error ? caught.message : String(caught);
  return new AppError('INTERNAL', message, { cause: caught });
}
