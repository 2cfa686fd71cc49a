import { Type } from 'typebox';
import { isBearer } from '../../http/bearer.ts';
import { AppError } from '../../../kit/errors.ts';
import { traceparentOf } from '../../../kit/tracing/trace-context.ts';
import type { RouteDependencies } from './dependencies.ts';
import { positionToken } from './headers.ts';
import { type App, component, errors, plainAnswer, time } from '../../http/schema.ts';

const result = component(
  'SyncResult',
  Type.Object({
    status: Type.String({ description: 'What was begun.' }),
    triggered_at: time('When the round was asked for.'),
    position: Type.String({
      description:
        'Place of the request in the log: an opaque, URL-safe token, as in the header Annals-Position. The rounds that answer it name it as their cause.',
    }),
  }),
);

/** All components of this route. */
export const syncComponents = [result];

/** Without a token, or with one: the instance's settings decide. */
const security: Record<string, string[]>[] = [{}, { syncToken: [] }];
/** Requests of one caller a minute. */
const mostPerMinute = 30;

/** `POST /v1/supernodes/sync`: requests a round of SuperNodes and validators, and a probe of all, at once. */
export function syncRoutes(app: App, { requestSync, settings, clock }: RouteDependencies): void {
  const schema = {
    tags: ['SuperNodes'],
    operationId: 'requestSync',
    summary: 'Sync and probe all SuperNodes now',
    description:
      'Only on instances with `ALLOW_MANUAL_SYNC=true`; those with a `SYNC_TOKEN` want it as bearer token. A round that is asked for already is joined.',
    security,
    response: {
      202: plainAnswer('The round is asked for, and this is in the log.', result.ref),
      ...errors(401, 403, 429),
    },
  };
  const config = { rateLimit: { max: mostPerMinute, timeWindow: '1 minute' } };
  app.post('/v1/supernodes/sync', { schema, config }, async ({ headers }, reply) => {
    if (!settings.allowManualSync)
      throw new AppError(
        'FORBIDDEN',
        'This instance does not take manual syncs; its operator allows them with ALLOW_MANUAL_SYNC=true.',
      );
    if (settings.syncToken !== undefined && !isBearer(headers.authorization, settings.syncToken)) {
      reply.header('www-authenticate', 'Bearer');
      throw new AppError('UNAUTHORIZED', 'This instance wants the header Authorization: Bearer with its sync token.');
    }
    const { position, at } = await requestSync(new Date(clock()).toISOString(), traceparentOf(headers.traceparent));
    const token = positionToken([position]);
    reply.code(202).header('Annals-Position', token);
    return {
      status: 'sync of SuperNodes and validators requested; a probe of all follows',
      triggered_at: at,
      position: token,
    };
  });
}
