import { pino } from 'pino';
import { AppError } from '../../../commands/errors.ts';
import type { RestDependencies } from './dependencies.ts';
import { createRest } from './rest.ts';

const nobody = async (): Promise<never> => {
  throw new AppError('UNAVAILABLE', 'Nothing is asked while the document is made.');
};

/**
 * The OpenAPI document as `GET /openapi.json` gives it, made without any store: for a file beside the code.
 *
 * @example JSON.stringify(await apiDocument('1.0.0'), null, 2)
 */
export async function apiDocument(version: string): Promise<object> {
  const ending = AbortSignal.abort();
  const app = createRest({ ...nothing, signal: ending, version });
  await app.ready();
  const document = app.swagger();
  await app.close();
  return document;
}

const nothing: Omit<RestDependencies, 'signal' | 'version'> = {
  reader: { read: nobody, generations: nobody },
  heads: nobody,
  broker: nobody,
  archive: nobody,
  requestSync: nobody,
  subscribe: () => () => undefined,
  decodeMetadata: () => undefined,
  settings: {
    corsAllowOrigins: '*',
    allowManualSync: false,
    syncToken: undefined,
    actionsSyncIntervalMs: 0,
    supernodesSyncIntervalMs: 0,
    validatorsSyncIntervalMs: 0,
    probeIntervalMs: 0,
    scrubIntervalMs: 0,
    scrubPerSecond: 1,
    profile: { addressPrefix: '' },
  },
  cursorKey: 'no cursor is made',
  logger: pino({ level: 'silent' }),
  clock: () => 0,
};
