import { asyncApi } from '../../http/asyncapi.ts';
import { type App, errors, serverSentEvents } from '../../http/schema.ts';
import { createStreams, type SseClient } from '../../http/sse.ts';
import type { RestDependencies } from './dependencies.ts';

/** Connections that one caller may open a minute. */
const mostPerMinute = 240;

/**
 * `GET /live`: facts as they are written, as server-sent events whose data are the events of the log.
 *
 * Stores nothing for late readers, and disconnects slow ones: for positions and replay, clients use the log.
 */
export function liveRoutes(
  app: App,
  { subscribe, signal, settings, version }: Pick<RestDependencies, 'subscribe' | 'signal' | 'settings' | 'version'>,
): void {
  const { network, natsPort, natsWsPort } = settings;
  app.get('/asyncapi.json', { schema: { hide: true } }, (request) =>
    asyncApi({ version, network, host: request.host, natsPort, natsWsPort }),
  );
  const streams = createStreams(app, { signal, remedy: 'try again later or subscribe to the log' });
  let readers = 0;
  let unsubscribe: (() => void) | undefined;
  const follow = (client: SseClient): void => {
    readers += 1;
    unsubscribe ??= subscribe((data, name) => streams.sendAll(name === undefined ? { data } : { data, name }));
    const leave = (): void => {
      readers -= 1;
      if (readers > 0) return;
      unsubscribe?.();
      unsubscribe = undefined;
    };
    client.onOver(leave);
  };
  const schema = {
    tags: ['Operations'],
    operationId: 'live',
    summary: 'Facts as they are written, as server-sent events',
    description:
      'Action, SuperNode and probe events, each with the JSON of its CloudEvent as data. From now on only; a slow reader is cut off.',
    response: {
      200: {
        description: 'Events until one side hangs up.',
        content: { 'text/event-stream': serverSentEvents },
      },
      ...errors(429),
    },
  };
  const config = { lasts: true, rateLimit: { max: mostPerMinute, timeWindow: '1 minute' } };
  app.get('/live', { schema, config }, (request, reply) => {
    const client = streams.open(request, reply);
    if (client) follow(client);
  });
}
