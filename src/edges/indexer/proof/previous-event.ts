import type { ProvenLogs } from '../../../engine/archive/proof/serving.ts';
import { recordedFrom } from '../../../engine/log/envelope.ts';
import { catalogue, entityOf } from '../../../events/catalogue.ts';
import type { StreamName } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import { type App, errors } from '../../http/schema.ts';
import type { PastLog } from '../rest/as-of.ts';
import { eventBytes, eventParams, immutable, publicLog, sequenceOf } from './log-schemas.ts';

/**
 * `GET /log/<stream>/events/<sequence>/previous`: leads to the event of the same entity before an event.
 *
 * One read of the log finds it by its subject; `previousid` then shows that it is the very one.
 */
export function previousEventRoute(
  app: App,
  { logs, past }: Readonly<{ logs: Pick<ProvenLogs, 'event'>; past: Pick<PastLog, 'lastAsOf'> }>,
): void {
  const schema = {
    tags: ['Logs'],
    operationId: 'log_previous_event',
    summary: 'The event of the same entity before an event',
    description:
      'Redirects to it. 204 where it is the first event of its entity, 410 where the log does not keep the one before any more.',
    params: eventParams,
    response: {
      302: {
        description: 'Where the event before is.',
        headers: { Location: { type: 'string', description: 'Path of its bytes.' } },
        type: 'null',
      },
      204: { description: 'It is the first event of its entity.', type: 'null' },
      ...errors(404, 410),
    },
  };
  app.get('/log/:stream/events/:sequence/previous', { schema }, async ({ params }, reply) => {
    const stream = publicLog(params.stream);
    const sequence = sequenceOf(params.sequence);
    const { bytes } = await eventBytes(logs, stream, sequence);
    const before = await previousOf(past, stream, { sequence, bytes });
    void reply.header('cache-control', immutable);
    if (before === undefined) return await reply.code(204).send();
    return await reply.redirect(`/log/${stream}/events/${before}`);
  });
}

/** The sequence of the event of the same entity before an event; undefined where it is the first one. */
async function previousOf(
  past: Pick<PastLog, 'lastAsOf'>,
  stream: StreamName,
  event: Readonly<{ sequence: number; bytes: Uint8Array }>,
): Promise<number | undefined> {
  const { fact, sequence, previous } = recordedFrom(stream, event);
  const entity = entityOf(fact);
  const before = (await past.lastAsOf(catalogue[fact.type].kind, [entity], sequence - 1)).get(entity);
  if (!before && previous === undefined) return undefined;
  if (!before || (previous !== undefined && before.id !== previous))
    throw new AppError('GONE', 'The event of this entity before this one is not kept any more.');
  return before.sequence;
}
