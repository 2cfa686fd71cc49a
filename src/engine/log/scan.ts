import type { NatsConnection } from '@nats-io/transport-node';
import { wait } from '../../kit/wait.ts';
import { AppError } from '../../kit/errors.ts';
import type { Kind } from '../../events/streams.ts';
import type { Stored } from './direct.ts';
import { Feed } from './feed.ts';

const atOnce = 5000;
const attempts = 20;

/** The pattern of all subjects of a kind: `evt.<kind>.<network>.*`. */
export function everyEntity(kind: Kind, network: string): string {
  return `evt.${kind}.${network}.*`;
}

/**
 * The entity that a subject names; the inverse of `subjectOf`. A token that `subjectOf` would never write stays as it
 * is.
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
 * The last message of every subject that a pattern matches, any number; starts again when the broker goes away
 * meanwhile.
 */
export async function lastOfEach(nc: NatsConnection, stream: string, pattern: string): Promise<Stored[]> {
  let why: unknown;
  for (let attempt = 0; attempt < attempts && !nc.isClosed(); attempt++) {
    const match = await scanOnce(nc, stream, pattern).catch((caught: unknown) => {
      why = caught;
    });
    if (match) return [...match.values()];
    await wait(500 + Math.random() * 500);
  }
  throw new AppError(
    'UNAVAILABLE',
    `The broker did not let ${stream} be read: ${why instanceof Error ? why.message : String(why)}`,
    { cause: why },
  );
}

async function scanOnce(nc: NatsConnection, stream: string, pattern: string): Promise<ReadonlyMap<string, Stored>> {
  const result = new Map<string, Stored>();
  for await (const page of lastPages(nc, stream, pattern))
    for (const message of page) result.set(message.subject, message);
  return result;
}

/** The same page by page, so that no more than a page is held; fails when the broker goes away meanwhile. */
export async function* lastPages(
  nc: NatsConnection,
  stream: string,
  pattern: string,
): AsyncGenerator<readonly Stored[], void, undefined> {
  const feed = await Feed.open(nc, stream, { lastPer: pattern });
  try {
    for (let behind = feed.pendingAtStart; behind > 0;) {
      const messages = await feed.take(atOnce);
      yield messages;
      behind = messages.at(-1)?.behind ?? 0;
    }
  } finally {
    feed.close();
  }
}
