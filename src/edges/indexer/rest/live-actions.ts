import type { FastifyReply, FastifyRequest } from 'fastify';
import pLimit, { type LimitFunction } from 'p-limit';
import { entityIn } from '../../../engine/log/scan.ts';
import type { ActionFilter, ListedAction } from '../../../projections/actions/action-list.ts';
import { ListActions } from '../../../projections/actions/queries.ts';
import type { Reading } from '../../../projections/reading.ts';
import { runQuery } from '../../bus.ts';
import { isNamedRather } from '../../http/accept.ts';
import type { App } from '../../http/schema.ts';
import { createStreams } from '../../http/sse.ts';
import { lastEventId, type PlacedEvent, type ResumableFeed, showFeed } from '../../http/sse-resume.ts';
import { listItemOf } from './action-views.ts';
import type { RestDependencies } from './dependencies.ts';

/** What a reader follows: the actions that match a filter, with or without their transactions. */
export type LiveQuery = Readonly<{ filter: ActionFilter; limit: number; withTransactions: boolean }>;

/** Events of the log that one step covers: at most so many actions are compared. */
const mostEvents = 100;
const mostEventBytes = 1024 * 1024;

/** Steps of all readers that are read at once: whoever reads pages meanwhile has connections of the database left. */
const stepsAtOnce = 2;
/** Actions that are compared together. */
const comparedAtOnce = 10;

type Sources = Pick<RestDependencies, 'reader' | 'eventSource' | 'onMoved' | 'signal'>;

/** A reader, and how its steps take their turn among those of all. */
type Turns = Readonly<{ limit: LimitFunction; isOver: () => boolean }>;

/**
 * Answers `GET /v1/actions` as server-sent events: the list once, then the rows that enter, change or leave it, each
 * event with the position in the log of actions that it is of. `Last-Event-ID` continues from there, without the list.
 *
 * A row is compared as it was at the position before and as it is at the next one, so that nothing is remembered for a
 * reader and any replica continues what another one began.
 */
export function createLiveActions(
  app: App,
  sources: Sources,
): (request: FastifyRequest, reply: FastifyReply, query: LiveQuery) => Promise<FastifyReply> {
  const streams = createStreams(app, { signal: sources.signal, remedy: 'try again later or poll the list' });
  const limit = pLimit(stepsAtOnce);
  return async (request, reply, query) => {
    const after = lastEventId(request);
    // A position that the log does not have is refused before the stream starts.
    if (after > 0) await sources.eventSource.after('ACTIONS', after, { most: 1, mostBytes: 1 });
    const client = streams.open(request, reply);
    if (client) showFeed(client, feedOf(sources, query, { limit, isOver: () => client.isOver }), after);
    return reply;
  };
}

/** Whether a caller takes server-sent events rather than JSON. */
export function takesEvents(request: FastifyRequest): boolean {
  return isNamedRather(request, 'text/event-stream', 'application/json');
}

function feedOf(sources: Sources, query: LiveQuery, { limit, isOver }: Turns): ResumableFeed {
  let reached: number | undefined;
  return {
    watch: (onMore) => sources.onMoved(({ projection }) => projection === 'actions' && onMore()),
    async *history(after) {
      if (after === 0 && reached === undefined) {
        const list = await listOf(sources, query);
        reached = list.id;
        yield list;
      }
      for (;;) {
        const step = await limit(() => stepAfter(sources, query, Math.max(after, reached ?? 0), isOver));
        if (!step) return;
        reached = step.id;
        if (step.data !== '') yield step;
      }
    },
  };
}

async function listOf({ reader }: Sources, { filter, limit, withTransactions }: LiveQuery): Promise<PlacedEvent> {
  return await reader.read(async (reading) => {
    const { rows, total } = await runQuery(reading, new ListActions({ ...filter, after: undefined, limit }));
    const actions = rows.map((row) => listItemOf(row, withTransactions));
    return { id: reading.followed.actions.sequence, name: 'list', data: JSON.stringify({ actions, total }) };
  });
}

/**
 * The rows that changed after a position, up to the next one that is shown; undefined at the end, without data where
 * none of them is or was in the list.
 */
async function stepAfter(
  { reader, eventSource }: Sources,
  { filter, withTransactions }: LiveQuery,
  after: number,
  isOver: () => boolean,
): Promise<PlacedEvent | undefined> {
  if (isOver()) return undefined;
  // Before the snapshot, which holds a connection of its own.
  const events = await eventSource.after('ACTIONS', after, { most: mostEvents, mostBytes: mostEventBytes });
  if (events.length === 0) return undefined;
  return await reader.read(async (reading) => {
    const { sequence: end } = reading.followed.actions;
    const shown = events.filter(({ sequence }) => sequence <= end);
    const id = shown.at(-1)?.sequence;
    if (id === undefined) return undefined;
    const [before, now] = [readingAt(reading, after), id === end ? reading : readingAt(reading, id)];
    const rows: Record<'enter' | 'change', object[]> & { leave: string[] } = { enter: [], change: [], leave: [] };
    const actions = [...new Set(shown.map(({ subject }) => entityIn(subject)))];
    for (let at = 0; at < actions.length; at += comparedAtOnce) {
      // Who has left is compared no more rows.
      if (isOver()) return undefined;
      const some = actions.slice(at, at + comparedAtOnce);
      const compared = some.map((one) => Promise.all([before, now].map((then) => rowIn(then, filter, one))));
      for (const [place, [was, is]] of (await Promise.all(compared)).entries()) {
        if (is) rows[was ? 'change' : 'enter'].push(listItemOf(is, withTransactions));
        else if (was) rows.leave.push(some[place] ?? '');
      }
    }
    const isAny = Object.values(rows).some((some) => some.length > 0);
    return { id, name: 'rows', data: isAny ? JSON.stringify(rows) : '' };
  });
}

/** A snapshot as of a position of the log of actions. */
function readingAt(reading: Reading, position: number): Reading {
  return { ...reading, at: { positions: { ACTIONS: position, NODES: reading.followed.supernodes.sequence } } };
}

/** An action where it matches a filter: the first row of the list from its id on, by the list's own query. */
async function rowIn(reading: Reading, filter: ActionFilter, id: string): Promise<ListedAction | undefined> {
  const { rows } = await runQuery(reading, new ListActions({ ...filter, after: String(BigInt(id) + 1n), limit: 1 }));
  const [row] = rows;
  return row?.id === id ? row : undefined;
}
