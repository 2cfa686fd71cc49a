import { Type } from 'typebox';
import type { EventIn, LinkedPage } from '../../../engine/archive/event-links.ts';
import { AppError } from '../../../kit/errors.ts';
import { shown } from '../../http/parameters.ts';
import { type App, errors } from '../../http/schema.ts';
import { conditional, createLogTags, notModified, tagHeaders } from '../freshness/log-tags.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { batchType, causedEvents, eventsAnswer, linkedEvents, linkedEventsQuery } from './event-schemas.ts';
import { linkNext, sendBatch, shownEvents, wantsBatch } from './event-views.ts';

const batch = '`Accept: application/cloudevents-batch+json` answers with their stored bytes alone.';

/** `/v1/transactions/{hash}/events` and `/v1/causes/{id}`: events by what links them. */
export function linkRoutes(app: App, { links, logs, ...dependencies }: RouteDependencies): void {
  const tagOf = createLogTags(dependencies);
  const routes = [
    {
      path: '/v1/transactions/:hash/events',
      param: 'hash',
      operationId: 'transactionEvents',
      summary: 'The events of actions that report a transaction',
      description: `404 where no event of an action reports it. ${batch}`,
      key: 'Hash of the transaction, hexadecimal.',
      none: 'No event of an action reports this transaction.',
      answer: linkedEvents.ref,
      causeOf: undefined,
      read: (hash: string, page: LinkedPage) => links.ofTransaction(hash.toUpperCase(), page),
    },
    {
      path: '/v1/causes/:id',
      param: 'id',
      operationId: 'causedEvents',
      summary: 'The events that an event caused',
      description: `Those that name it as their \`causationid\` or \`correlationid\` (the CloudEvents extension of correlation), and the event itself as \`cause\`. ${batch}`,
      key: 'Id of the event.',
      none: undefined,
      answer: causedEvents.ref,
      causeOf: links.cause,
      read: links.causedBy,
    },
  ];
  for (const { path, param, key: what, none, answer, causeOf, read, ...described } of routes) {
    const schema = {
      ...described,
      tags: ['Provenance'],
      params: Type.Object({ [param]: Type.String({ description: what }) }),
      querystring: linkedEventsQuery,
      headers: conditional,
      response: { 200: eventsAnswer('A page of events.', answer, tagHeaders), 304: notModified, ...errors(400, 404) },
    };
    app.get(path, { schema }, async (request, reply) => {
      const { limit, after, proofs } = request.query;
      const key = request.params[param] ?? '';
      const isPossible = !key.includes('\0');
      const page = isPossible && (await pageOf((one) => read(key, one), { limit, after }));
      if (!page && none !== undefined) throw new AppError('NOT_FOUND', none);
      const { events, next } = page || { events: [], next: null };
      const cause = isPossible ? await causeOf?.(key) : undefined;
      const form = wantsBatch(request) ? batchType : 'json';
      const tag = await tagOf(reply, form, async () => endOf({ cause, events, next, proofs }));
      if (tag.isKnown(reply)) return await reply.send();
      linkNext(reply, next);
      tag.put(reply, Infinity);
      if (wantsBatch(request)) return await sendBatch(reply, events);
      const [shownCause] = await shownEvents(cause ? [cause] : [], { logs, proofs });
      return {
        ...(shownCause && { cause: shownCause }),
        events: await shownEvents(events, { logs, proofs }),
        next_after: next,
      };
    });
  }
}

type Answered = Page & Readonly<{ cause: EventIn | undefined; proofs: unknown }>;

/** Which events an answer is made of; undefined with proofs, which change with the checkpoint. */
const endOf = ({ cause, events, next, proofs }: Answered) =>
  proofs
    ? undefined
    : { sequence: 0, which: [next, [cause, ...events].map((one) => [one?.stream, one?.sequence, one?.id])] };

type Page = Readonly<{ events: readonly EventIn[]; next: string | null }>;

/** A page of linked events, and where the next one begins; undefined where nothing is linked at all. */
async function pageOf(
  read: (page: LinkedPage) => Promise<readonly EventIn[]>,
  { limit, after: text }: Readonly<{ limit: number; after: string | undefined }>,
): Promise<Page | undefined> {
  const after = text === undefined ? undefined : locationOf(text);
  const all = await read({ after, limit: limit + 1 });
  if (all.length === 0 && (!after || (await read({ after: undefined, limit: 1 })).length === 0)) return undefined;
  const events = all.slice(0, limit);
  const last = events.at(-1);
  return { events, next: all.length > limit && last ? `${last.stream}:${last.sequence}` : null };
}

function locationOf(after: string): Readonly<{ stream: string; sequence: number }> {
  const [, stream = '', sequence] = /^([A-Z]+):(\d{1,15})$/.exec(after) ?? [];
  if (sequence === undefined)
    throw new AppError('INVALID_ARGUMENT', `after is ${shown(after)}; it takes a location such as ACTIONS:42.`);
  return { stream, sequence: Number(sequence) };
}
