import type { NatsConnection } from '@nats-io/transport-node';
import { type Kind, streamOfKind } from '../../events/streams.ts';
import { repeat } from '../../kit/repeat.ts';
import { Feed } from './feed.ts';
import { entityIn, everyEntity } from './scan.ts';
import { streamName } from './streams.ts';
import { callSafely } from './subscribe.ts';

type OnFact = (kind: Kind, entity: string) => void;

/** Calls back for facts of some kinds, of all entities or of one; returns a function that ends the watch. */
export type WatchFacts = (kinds: readonly Kind[], onFact: OnFact, entity?: string) => () => void;

/** The listeners of a kind: by entity, and under undefined those of all of it. */
type Watched = Readonly<{ listeners: Map<string | undefined, Set<OnFact>>; stop: () => void }>;

const atOnce = 5000;

/**
 * Watches kinds of a network: however many watch one, the broker sends each fact once, from the first watcher until the
 * last one stops.
 */
export function createWatches(nc: NatsConnection, network: string): WatchFacts {
  const watched = new Map<Kind, Watched>();
  const openWatch = (kind: Kind): Watched => {
    const stopping = new AbortController();
    const listeners: Watched['listeners'] = new Map();
    const report = (entity: string): void => {
      for (const wanted of [undefined, entity])
        for (const onFact of listeners.get(wanted) ?? []) callSafely(() => onFact(kind, entity));
    };
    const [stream, pattern] = [streamName(streamOfKind(kind), network), everyEntity(kind, network)];
    const onSubject = (subject: string): void => report(entityIn(subject));
    void watchSubjects({ nc, stream, pattern, signal: stopping.signal, onSubject });
    return { listeners, stop: () => stopping.abort() };
  };
  const watchOne = (kind: Kind, onFact: OnFact, entity: string | undefined): (() => void) => {
    const shared = watched.get(kind) ?? openWatch(kind);
    watched.set(kind, shared);
    const { listeners, stop } = shared;
    const own: OnFact = (...reported) => onFact(...reported);
    listeners.set(entity, (listeners.get(entity) ?? new Set()).add(own));
    return () => {
      const left = listeners.get(entity);
      if (!left?.delete(own)) return;
      if (left.size === 0) listeners.delete(entity);
      if (listeners.size > 0) return;
      watched.delete(kind);
      stop();
    };
  };
  return (kinds, onFact, entity) => {
    const stops = kinds.map((kind) => watchOne(kind, onFact, entity));
    return () => stops.forEach((stop) => stop());
  };
}

type Watching = Readonly<{
  nc: NatsConnection;
  stream: string;
  pattern: string;
  signal: AbortSignal;
  onSubject: (subject: string) => void;
}>;

async function watchSubjects(watching: Watching): Promise<void> {
  const { nc, signal } = watching;
  let after: number | undefined;
  const watch = async (): Promise<'done' | void> => {
    if (nc.isClosed()) return 'done';
    after = await watchOnce(watching, after);
  };
  await repeat('a watch broke', watch, { everyMs: 300, jitter: 2 / 3, signal });
}

/** Watches on one feed until it breaks; returns the sequence that it reached. */
async function watchOnce(
  { nc, stream, pattern, signal, onSubject }: Watching,
  start: number | undefined,
): Promise<number | undefined> {
  let after = start;
  const feed = await Feed.open(nc, stream, { newOf: pattern, after }).catch(() => undefined);
  if (!feed) return after;
  const close = (): void => feed.close();
  signal.addEventListener('abort', close);
  while (!signal.aborted) {
    const messages = await feed.take(atOnce).catch(() => []);
    if (messages.length === 0) break;
    for (const { subject } of messages) onSubject(subject);
    after = messages.at(-1)?.sequence;
  }
  signal.removeEventListener('abort', close);
  close();
  return after;
}
