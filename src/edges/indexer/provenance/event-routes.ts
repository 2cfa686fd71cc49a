import { Type } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { type App, errors } from '../../http/schema.ts';
import { records } from '../rest/records.ts';
import { conditional, createLogTags, notModified, tagHeaders } from '../freshness/log-tags.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { batchType, eventsAnswer, recordEvents, recordEventsQuery } from './event-schemas.ts';
import { linkNext, sendBatch, shownEvents, wantsBatch } from './event-views.ts';
import { eventsOfRecord } from './record-events.ts';

const tags = ['Provenance'];

/** `/v1/actions/{id}/events` and `/v1/supernodes/{id}/events`: the events that a record is made of. */
export function eventRoutes(app: App, dependencies: RouteDependencies): void {
  const tagOf = createLogTags(dependencies);
  for (const { of, stream, kind, isId } of records) {
    const schema = {
      tags,
      operationId: `${of}Events`,
      summary: 'The events that a record is made of',
      description:
        'In the order of the log, from the first one. `Accept: application/cloudevents-batch+json` answers with their stored bytes alone.',
      params: Type.Object({ id: Type.String({ description: 'Id of the record.' }) }),
      querystring: recordEventsQuery,
      headers: conditional,
      response: {
        200: eventsAnswer('A page of events.', recordEvents.ref, tagHeaders),
        304: notModified,
        ...errors(400, 404),
      },
    };
    app.get(`/v1/${of}/:id/events`, { schema }, async (request, reply) => {
      const { id } = request.params;
      const { limit, after, proofs } = request.query;
      const form = wantsBatch(request) ? batchType : 'json';
      // Proofs change with the checkpoint.
      const tag = await tagOf(reply, form, async () => {
        const last = isId(id) && !proofs ? await dependencies.past.confirmedLast(kind, id) : undefined;
        return last && { sequence: last.sequence, which: last.id };
      });
      if (tag.isKnown(reply)) return await reply.send();
      const pageOf = async (page: Readonly<{ after: number; limit: number }>) =>
        isId(id) ? await eventsOfRecord(dependencies, { of, stream, kind, id }, page) : [];
      const page = await pageOf({ after, limit: limit + 1 });
      if (page.length === 0 && (after === 0 || (await pageOf({ after: 0, limit: 1 })).length === 0))
        throw new AppError('NOT_FOUND', 'There is no record of this id.');
      const events = page.slice(0, limit).map((event) => ({ ...event, stream }));
      const next = page.length > limit ? (events.at(-1)?.sequence ?? null) : null;
      linkNext(reply, next);
      tag.put(reply, next === null ? Math.max(after, events.at(-1)?.sequence ?? 0) : Infinity);
      if (wantsBatch(request)) return await sendBatch(reply, events);
      return { id, events: await shownEvents(events, { logs: dependencies.logs, proofs }), next_after: next };
    });
  }
}
