import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { AppError } from '../../commands/errors.ts';
import { type Kind, streamOfKind } from '../../events/streams.ts';
import type { Stored } from './direct.ts';
import { Feed } from './feed.ts';
import { streamName } from './streams.ts';
import { callSafely } from './subscribe.ts';
import { wait } from '../kit/wait.ts';

const atOnce = 5000;
const attempts = 20;

/** The pattern of all subjects of a kind: `evt.<kind>.<network>.*`. */
export function everyEntity(kind: Kind, network: string): string {
  return `evt.${kind}.${network}.*`;
}

/**
 * The entity that a subject names; the other way round from `subjectOf`. A token that `subjectOf` would never write
 * stays as it is.
 */
export function entityIn(subject: string): string {
  const token = subject.slice(subject.lastIndexOf('.') + 1);
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

/**
 * The last message of every subject that a pattern matches, any number; begins again when the broker goes away
 * meanwhile.
 */
export async function lastOfEach(nc: NatsConnection, stream: string, pattern: string): Promise<Stored[]> {
  let why: unknown;
  for (let attempt = 0; attempt < attempts && !nc.isClosed(); attempt++) {
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

type OnFact = (kind: Kind, entity: string) => void;
type Watching = Readonly<{
  nc: NatsConnection;
  stream: string;
  pattern: string;
  signal: AbortSignal;
  onSubject: (subject: string) => void;
}>;

/** Calls back for every new fact of these kinds, once it is stored, until stopped. */
export function watchKinds(nc: NatsConnection, network: string, kinds: readonly Kind[], onFact: OnFact): () => void {
  const stopping = new AbortController();
  for (const kind of kinds) {
    const [stream, pattern] = [streamName(streamOfKind(kind), network), everyEntity(kind, network)];
    void watchSubjects({
      nc,
      stream,
      pattern,
      signal: stopping.signal,
      onSubject: (subject) => callSafely(() => onFact(kind, entityIn(subject))),
    });
  }
  return () => stopping.abort();
}

async function watchSubjects(watching: Watching): Promise<void> {
  const { nc, signal } = watching;
  let after: number | undefined;
  while (!signal.aborted && !nc.isClosed()) {
    after = await watchOnce(watching, after);
    await wait(100 + Math.random() * 200, signal);
  }
}

/** Watches on one feed until it breaks; gives back how far it came. */
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
