import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { Recorded } from '../../commands/ports.ts';
import type { Log } from '../../engine/log/log.ts';
import { catalogue, entityOf, streamOf, subjectOf } from '../../events/catalogue.ts';
import { type StreamName, streams, streamTable, subjectsOf } from '../../events/streams.ts';
import { eventType } from '../../events/upcast.ts';
import { AppError, toAppError } from '../../kit/errors.ts';
import type { Logger } from '../../kit/logger.ts';
import { type App, errors, optional, query } from '../http/schema.ts';
import { isMatch, mayMatch } from './subjects.ts';

/** What the route of events reads. */
export type TailSource = Readonly<{ log: Pick<Log, 'head' | 'follow'>; network: string; logger: Logger }>;

/** Answers that go on at the same time; each reads the log anew. */
const mostReaders = 32;

const querystring = query({
  subject: Type.String({
    maxLength: 512,
    default: 'evt.>',
    description: 'Subject of the events, with the wildcards of NATS: `evt.action.>`.',
  }),
  from: optional(
    Type.String({
      pattern: '^(start|[1-9]\\d{0,14})$',
      description: 'Sequence to begin at in each stream, or `start`; left out, what is written from now on.',
    }),
  ),
});

/**
 * `GET /admin/v1/events`: the events of a subject as lines, private ones too, until the caller leaves. Reads no faster
 * than the caller takes them.
 */
export function addTail(app: App, source: TailSource): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  let readers = 0;
  const schema = {
    tags: ['State'],
    operationId: 'events',
    summary: 'The events of a subject as lines of JSON, from a position or from now on, without an end',
    querystring,
    response: {
      200: { description: 'An event a line.', content: { 'application/x-ndjson': { schema: Type.String() } } },
      ...errors(400, 404, 429),
    },
  };
  app.get('/admin/v1/events', { schema }, async ({ query: { subject, from } }, reply) => {
    const wanted = subject.replace(/^live\./, 'evt.');
    const reached = streamsOf(wanted, source.network);
    if (readers >= mostReaders)
      throw new AppError('TOO_MANY_REQUESTS', `${mostReaders} answers with events go on; end one of them first.`);
    readers += 1;
    reply.raw.once('close', () => (readers -= 1));
    const starts = await Promise.all(reached.map((stream) => startIn(source.log, stream, from)));
    await sendLines(reply, closing.signal, source, { wanted, starts });
  });
}

type Start = Readonly<{ stream: StreamName; after: number }>;

function streamsOf(wanted: string, network: string): readonly StreamName[] {
  const reached = streams.filter((stream) =>
    subjectsOf(streamTable[stream], network).some((pattern) => mayMatch(wanted, pattern)),
  );
  if (reached.length > 0) return reached;
  throw new AppError(
    'NOT_FOUND',
    `No stream holds ${wanted}: subjects look like evt.action.${network}.7 or evt.probe.>`,
  );
}

async function startIn(log: TailSource['log'], stream: StreamName, from: string | undefined): Promise<Start> {
  const { firstSequence, lastSequence } = await log.head(stream);
  if (from === undefined) return { stream, after: lastSequence };
  const before = from === 'start' ? 0 : Number(from) - 1;
  return { stream, after: Math.max(before, firstSequence - 1, 0) };
}

async function sendLines(
  reply: FastifyReply,
  closing: AbortSignal,
  { log, network, logger }: TailSource,
  { wanted, starts }: Readonly<{ wanted: string; starts: readonly Start[] }>,
): Promise<void> {
  const { raw } = reply;
  const left = new AbortController();
  raw.once('close', () => left.abort());
  if (raw.destroyed) left.abort();
  const signal = AbortSignal.any([closing, left.signal]);
  reply.hijack();
  raw.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }).flushHeaders();
  const follow = async ({ stream, after }: Start): Promise<void> => {
    for await (const { facts } of log.follow(stream, after, { signal }))
      for (const recorded of facts) {
        if (!isMatch(wanted, subjectFor(recorded, network))) continue;
        if (!raw.write(`${JSON.stringify(lineOf(recorded))}\n`)) await once(raw, 'drain', { signal });
      }
  };
  try {
    await Promise.all(starts.map(follow));
  } catch (caught) {
    if (!signal.aborted) logger.warn({ err: toAppError(caught) }, 'an answer with events ended early');
  } finally {
    left.abort();
    raw.destroy();
  }
}

function subjectFor({ fact }: Recorded, network: string): string {
  return subjectOf(catalogue[fact.type].kind, network, entityOf(fact));
}

/** An event as a line of the answer has it. */
export type TailedEvent = ReturnType<typeof lineOf>;

function lineOf({ fact, id, sequence, time, causation, previous }: Recorded) {
  return {
    stream: streamOf(fact.type),
    sequence,
    id,
    type: eventType(fact.type),
    subject: entityOf(fact),
    time,
    causationid: causation,
    previousid: previous,
    data: fact.data,
  };
}
