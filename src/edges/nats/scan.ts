import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../commands/errors.ts';
import { type Kind, kindTable } from '../../events/catalogue.ts';
import type { Stored } from './direct.ts';
import { Feed, FeedLost } from './feed.ts';
import { streamName } from './streams.ts';

const atOnce = 5000;
const attempts = 20;

/** The pattern of all subjects of a kind: `evt.<kind>.<network>.*`. */
export function everyEntity(kind: Kind, network: string): string {
  return `evt.${kind}.${network}.*`;
}

/** The entity that a subject names; the other way round from `subjectOf`. */
export function entityIn(subject: string): string {
  return decodeURIComponent(subject.slice(subject.lastIndexOf('.') + 1));
}

/** The last message of every subject that a pattern matches, any number; begins again when the broker goes away meanwhile. */
export async function lastOfEach(nc: NatsConnection, stream: string, pattern: string): Promise<Stored[]> {
  let why: unknown;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await scanOnce(nc, stream, pattern).catch((caught: unknown) => {
      why = caught;
    });
    if (found) return [...found.values()];
    await pause(500 + Math.random() * 500);
  }
  throw new AppError(
    'UNAVAILABLE',
    `The broker did not let ${stream} be read: ${why instanceof Error ? why.message : String(why)}`,
    { cause: why },
  );
}

async function scanOnce(nc: NatsConnection, stream: string, pattern: string): Promise<ReadonlyMap<string, Stored>> {
  const found = new Map<string, Stored>();
  const feed = await Feed.open(nc, stream, { lastPer: pattern });
  try {
    for (let behind = feed.pendingAtStart; behind > 0;) {
      const messages = await feed.take(atOnce);
      for (const message of messages) found.set(message.subject, message);
      behind = messages.at(-1)?.behind ?? 0;
    }
    return found;
  } finally {
    feed.close();
  }
}

/** Calls back for every new fact of these kinds, once it is stored, until stopped. */
export function watchKinds(
  nc: NatsConnection,
  network: string,
  kinds: readonly Kind[],
  onFact: (kind: Kind, entity: string) => void,
): () => void {
  const stopping = new AbortController();
  for (const kind of kinds) void watchKind(nc, network, kind, onFact, stopping.signal);
  return () => stopping.abort();
}

async function watchKind(
  nc: NatsConnection,
  network: string,
  kind: Kind,
  onFact: (kind: Kind, entity: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const stream = streamName(kindTable[kind].stream, network);
  let after: number | undefined;
  while (!signal.aborted && !nc.isClosed()) {
    const feed = await Feed.open(nc, stream, { newOf: everyEntity(kind, network), after }).catch(() => undefined);
    const close = (): void => feed?.close();
    signal.addEventListener('abort', close);
    if (signal.aborted) close();
    try {
      while (feed) {
        for (const { subject, sequence } of await feed.take(atOnce)) {
          after = sequence;
          onFact(kind, entityIn(subject));
        }
      }
    } catch (caught) {
      if (!(caught instanceof FeedLost)) throw caught;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
    await pause(100 + Math.random() * 200, undefined, { signal }).catch(() => undefined);
  }
}
