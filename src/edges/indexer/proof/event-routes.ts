import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { StoredEvent } from '../../../engine/archive/event-pages.ts';
import { publicLogs } from '../../../engine/archive/proof/serving.ts';
import { type Kind, type StreamName, streamTable } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import { isNamedRather } from '../../http/accept.ts';
import { type App, errors, optional, query, serverSentEvents, words } from '../../http/schema.ts';
import { createStreams } from '../../http/sse.ts';
import { lastEventId, showFeed } from '../../http/sse-resume.ts';
import { conditional, createLogTags, notModified, tagHeaders } from '../freshness/log-tags.ts';
import type { RouteDependencies } from '../rest/dependencies.ts';
import { createEventFeeds, type EventSource, isOfKinds, kindsOf } from './event-tail.ts';
import { publicLog, streamParam } from './log-schemas.ts';

const mostEvents = 10_000;
const usualEvents = 1000;
const mostPageBytes = 1024 * 1024;
/** Runs of sequences that the header of a page names, so that it stays within what proxies take. */
const mostRuns = 100;
/** Pages that are read for one answer where none of their events is of the kind. */
const mostEmptyPages = 10;
/** Answers whose bytes are held at once. */
const mostAnswers = 64;
const readers = { mostClients: 5000, mostPerAddress: 1500, mostBufferedBytes: 16 * 1024 * 1024 } as const;
const ndjson = 'application/x-ndjson';

const kinds = publicLogs.flatMap(kindsOf);

const querystring = query({
  after: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    description: 'Sequence after which to start; 0 is the beginning.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: mostEvents,
    default: usualEvents,
    description: 'Most events of a page; one page has at most about 1 MiB of them, and always one. Not of a stream.',
  }),
  kind: optional(words(kinds, { description: 'Only events of this kind, where the stream has several.' })),
});

const header = (description: string) => ({ type: 'string', description });
const page = {
  description: [
    'One event a line, each byte for byte as it was stored: the SHA-256 of a line without its end is the entry of the log’s tree.',
    'No line where there is no event yet.',
  ].join(' '),
  headers: {
    'Annals-Sequences': header('Sequences of the lines, such as `1-256,258`; left out where there is no line.'),
    'Annals-Through': header('Sequence up to which this answer has all of the stream: `after` of the next request.'),
    Link: header('The next page, as `rel="next"`.'),
    ...tagHeaders,
  },
  content: { [ndjson]: { schema: Type.String() }, 'text/event-stream': serverSentEvents },
};

type Page = Readonly<{ events: readonly StoredEvent[]; through: number }>;

/**
 * `GET /log/<stream>/events`: the events of a stream in order, as pages of lines, or as server-sent events that go on
 * with what is written.
 */
export function eventRoutes(
  app: App,
  dependencies: Pick<RouteDependencies, 'eventSource' | 'past' | 'signal' | 'version' | 'settings'>,
): void {
  const { eventSource: events, past, signal } = dependencies;
  const tagOf = createLogTags(dependencies);
  const streams = createStreams(app, { signal, ...readers, remedy: 'try again later or read pages' });
  const feedOf = createEventFeeds(events);
  const slots = createSlots(mostAnswers);
  const schema = {
    tags: ['Logs'],
    operationId: 'log_events',
    summary: 'The events of a log in order, as lines or as server-sent events',
    description: [
      'With `Accept: text/event-stream` each event has its sequence as `id` and its bytes as `data`; the stream goes on with what is written, and `Last-Event-ID` resumes it without a gap.',
      '400 `BEYOND_HEAD` where the stream ends before `after`, as one that was created anew may.',
    ].join(' '),
    params: Type.Object({ stream: streamParam }),
    querystring,
    headers: conditional,
    response: { 200: page, 304: notModified, ...errors(400, 404) },
  };
  app.get('/log/:stream/events', { schema, config: { lasts: true } }, async (request, reply) => {
    const stream = publicLog(request.params.stream);
    const { after, limit, kind } = request.query;
    const wanted = wantedKinds(stream, kind);
    if (!takesEvents(request)) {
      const tag = await tagOf(reply, ndjson, async () => {
        const { incarnation, firstSequence, lastSequence } = await past.head(stream);
        // A page within a log that keeps everything stays as it is, whatever comes behind it.
        const isFixed = kind === undefined && streamTable[stream].keeps === 'forever';
        const sequence = isFixed ? Math.min(lastSequence, after + limit) : lastSequence;
        return { sequence, which: [incarnation, firstSequence] };
      });
      if (tag.isKnown(reply)) return await reply.send();
      slots.hold(reply);
      const answer = await pageOf(events, { stream, after, limit, wanted });
      tag.put(reply, answer.through);
      return await sendPage(reply, answer, nextOf({ stream, limit, kind, after: answer.through }));
    }
    const from = lastEventId(request) || after;
    // A position that the stream does not have is refused before the stream starts.
    await events.after(stream, from, { most: 1, mostBytes: 1 });
    const client = streams.open(request, reply);
    if (client) showFeed(client, feedOf(stream, wanted), from);
    return reply;
  });
}

/** The sets that readers share: there are no more than streams and kinds. */
const sets = new Map<string, ReadonlySet<string>>();

function wantedKinds(stream: StreamName, kind: Kind | undefined): ReadonlySet<string> {
  const all = kindsOf(stream);
  if (kind === undefined || all.includes(kind)) {
    const key = `${stream} ${kind}`;
    const wanted = sets.get(key) ?? new Set(kind === undefined ? all : [kind]);
    sets.set(key, wanted);
    return wanted;
  }
  throw new AppError('INVALID_ARGUMENT', `${stream} has no events of kind ${kind}; it has ${all.join(' and ')}.`);
}

/** Whether a caller takes server-sent events rather than lines. */
function takesEvents(request: FastifyRequest): boolean {
  return isNamedRather(request, 'text/event-stream', ndjson);
}

type Wanted = Readonly<{ stream: StreamName; after: number; limit: number; wanted: ReadonlySet<string> }>;

/** A page of events of some kinds: as many pages are read as it takes to have one, up to a bound. */
async function pageOf({ after: read }: EventSource, { stream, after, limit, wanted }: Wanted): Promise<Page> {
  const isWanted = isOfKinds(wanted);
  let through = after;
  for (let n = 0; n < mostEmptyPages; n++) {
    const all = await read(stream, through, { most: limit, mostBytes: mostPageBytes });
    const last = all.at(-1);
    if (!last) break;
    const events = fewRuns(all.filter(isWanted));
    through = events.isCut ? (events.events.at(-1)?.sequence ?? last.sequence) : last.sequence;
    if (events.events.length > 0) return { events: events.events, through };
  }
  return { events: [], through };
}

/** The events up to the last run of sequences that is named. */
function fewRuns(events: readonly StoredEvent[]): Readonly<{ events: readonly StoredEvent[]; isCut: boolean }> {
  let runs = 0;
  const end = events.findIndex(({ sequence }, at) => {
    if (sequence !== (events[at - 1]?.sequence ?? -1) + 1) runs += 1;
    return runs > mostRuns;
  });
  return end < 0 ? { events, isCut: false } : { events: events.slice(0, end), isCut: true };
}

/** Sequences as ranges, such as `1-256,258`. */
function rangesOf(events: readonly StoredEvent[]): string {
  const ranges: [number, number][] = [];
  for (const { sequence } of events) {
    const last = ranges.at(-1);
    if (last && last[1] === sequence - 1) last[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

async function sendPage(reply: FastifyReply, { events, through }: Page, next: string): Promise<FastifyReply> {
  const lineEnd = Buffer.from('\n');
  return await reply
    .headers({
      'content-type': ndjson,
      'annals-through': String(through),
      ...(events.length > 0 && { 'annals-sequences': rangesOf(events) }),
      link: `<${next}>; rel="next"`,
    })
    .send(Buffer.concat(events.flatMap(({ bytes }) => [bytes, lineEnd])));
}

type Next = Readonly<{ stream: StreamName; limit: number; kind: Kind | undefined; after: number }>;

function nextOf({ stream, limit, kind, after }: Next): string {
  return `/log/${stream}/events?after=${after}&limit=${limit}${kind === undefined ? '' : `&kind=${kind}`}`;
}

/** Bounds the answers that are on their way, whose bytes lie in memory until their reader has them. */
function createSlots(most: number) {
  let used = 0;
  return {
    hold: ({ raw }: FastifyReply): void => {
      if (used >= most)
        throw new AppError('UNAVAILABLE', `As many pages as this instance sends at once (${most}) are on their way.`);
      used += 1;
      raw.once('close', () => (used -= 1));
    },
  };
}
