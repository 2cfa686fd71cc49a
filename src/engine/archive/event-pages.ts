import type { NatsConnection } from '@nats-io/transport-node';
import { forgets, type StreamName, type StreamPolicies, streamTable } from '../../events/streams.ts';
import { AppError } from '../../kit/errors.ts';
import { messagesOf } from '../log/direct.ts';
import { readHead } from '../log/head.ts';
import { streamName } from '../log/streams.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { archiveTypes, type Pools, type RunQuery, withClient } from '../models/pool.ts';
import { isSound, type Link } from './chain.ts';

/** An event as it is stored, byte for byte. */
export type StoredEvent = Readonly<{ sequence: number; subject: string; bytes: Uint8Array }>;

/** Bounds of a page: events, and about so many bytes, but at least one event. */
export type PageBounds = Readonly<{ most: number; mostBytes: number }>;

/**
 * Reads the events of a stream after a sequence, in order, as their bytes; empty at its end.
 *
 * They come from the log, and from the archive where the log lacks them. Sequences are skipped where both have dropped
 * the event by the stream's policy, or are known to have lost it. Fails with `BEYOND_HEAD` for a sequence that the
 * stream does not have yet, and with `UNAVAILABLE` while an event is missing that should be there.
 *
 * @example await eventsAfter('ACTIONS', 41, { most: 500, mostBytes: 1e6 })
 */
export type EventPages = (stream: StreamName, after: number, bounds: PageBounds) => Promise<readonly StoredEvent[]>;

type Sources = Readonly<{ nc: NatsConnection; pools: Pools; network: string; policies?: StreamPolicies }>;

/** Opens both stores of a network for readers of bytes. */
export function createEventPages({ nc, pools, network, policies = streamTable }: Sources): EventPages {
  const query: RunQuery = async (text, values = []) =>
    withClient(pools.read, async (client) => (await client.query({ text, values, types: archiveTypes() })).rows);
  const archived = archivedIn(query, metaSchema(network));
  const isLost = lossesIn(query, metaSchema(network));
  return async (stream, after, bounds) => {
    const name = streamName(stream, network);
    const range = { subject: `evt.*.${network}.*`, from: after + 1, ...bounds };
    const logged = (await messagesOf(nc, name, range)).messages;
    const last = logged.at(-1)?.sequence;
    if (last !== undefined && logged.length === last - after) return bounded(logged, bounds);
    const { incarnation, lastSequence } = await readHead(nc, name);
    const upTo = last ?? Number.MAX_SAFE_INTEGER;
    const missing = { after, upTo, incarnation, without: logged.map(({ sequence }) => sequence) };
    const older = await archived(stream, missing, bounds);
    const all = bounded(
      [...logged, ...older].toSorted((a, b) => a.sequence - b.sequence),
      bounds,
    );
    if (all.length === 0 && after > lastSequence) throw beyond(stream, lastSequence);
    return forgets(policies[stream]) ? all : await withoutHoles(all, after, (one) => isLost(stream, one));
  };
}

/** As many as fit; the archive may have filled holes of a page that was full. */
function bounded(events: readonly StoredEvent[], { most, mostBytes }: PageBounds): readonly StoredEvent[] {
  let bytes = 0;
  const end = events.findIndex((event, at) => {
    bytes += event.bytes.length;
    return at >= most || (at > 0 && bytes > mostBytes);
  });
  return end < 0 ? events : events.slice(0, end);
}

type Missing = Readonly<{ after: number; upTo: number; incarnation: string; without: readonly number[] }>;

function archivedIn(query: RunQuery, schema: string) {
  const text = `select sequence, subject, id, stored_nanos::text as "storedNanos", body, previous, hash from (
      select *, sum(octet_length(body)::int8) over (order by sequence) - octet_length(body) as before from (
        select * from ${schema}.archive where stream = $1 and sequence > $2 and sequence <= $3
          and not sequence = any ($4::int8[])
          and exists (select from ${schema}.archive_heads where stream = $1 and incarnation = $5)
        order by sequence limit $6) as next
    ) as page where before < $7 order by sequence`;
  return async (
    stream: StreamName,
    { after, upTo, without, incarnation }: Missing,
    { most, mostBytes }: PageBounds,
  ): Promise<StoredEvent[]> => {
    const rows = await query<Link>(text, [stream, after, upTo, without, incarnation, most, mostBytes]);
    return rows
      .filter((link) => isSound(stream, link))
      .map(({ sequence, subject, body }) => ({ sequence, subject, bytes: body }));
  };
}

type Range = Readonly<{ first: number; last: number }>;

function lossesIn(query: RunQuery, schema: string) {
  const text = `select coalesce(sum(least(last, $3) - greatest(first, $2) + 1), 0)::int8 as lost
    from ${schema}.archive_losses where stream = $1 and first <= $3 and last >= $2`;
  return async (stream: StreamName, { first, last }: Range): Promise<boolean> => {
    const [row] = await query<{ lost: number }>(text, [stream, first, last]);
    return (row?.lost ?? 0) >= last - first + 1;
  };
}

/** Events up to the first hole that is no known loss. */
async function withoutHoles(
  events: readonly StoredEvent[],
  after: number,
  isLost: (range: Range) => Promise<boolean>,
): Promise<readonly StoredEvent[]> {
  let before = after;
  for (const [at, { sequence }] of events.entries()) {
    const hole = { first: before + 1, last: sequence - 1 };
    if (hole.first <= hole.last && !(await isLost(hole))) {
      if (at > 0) return events.slice(0, at);
      throw new AppError(
        'UNAVAILABLE',
        `Event ${hole.first} is in neither store at this moment; it is repaired or reported as lost.`,
      );
    }
    before = sequence;
  }
  return events;
}

function beyond(stream: StreamName, last: number): AppError {
  return new AppError(
    'BEYOND_HEAD',
    `${stream} ends at ${last}: it has no such sequence yet, or was created anew; start again from 0.`,
  );
}
