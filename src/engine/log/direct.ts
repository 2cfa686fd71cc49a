import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { wait } from '../../kit/wait.ts';
import { AppError } from '../../kit/errors.ts';
import { onBreak } from './breaks.ts';
import { subscribe } from './subscribe.ts';

/** A stored message in the form of a direct read. */
export type Stored = Readonly<{
  subject: string;
  sequence: number;
  bytes: Uint8Array;
  /** A header of the event, or one that the broker adds: `Nats-Time-Stamp` holds when it was stored. */
  header: (name: string) => string | undefined;
}>;

/** The most subjects of one request to the broker. */
const maxSubjects = 1024;
/** Well below what the server lets pile up for a connection before it cuts it. */
const maxReplyBytes = 8 * 1024 * 1024;
const attemptMs = 5000;
const giveUpAfterMs = 20_000;

type Question = Readonly<
  | { multi_last: readonly string[]; max_bytes: number; seq?: number; up_to_seq?: number }
  | { next_by_subj: string; seq: number; batch: number; max_bytes: number }
  | { seq: number }
>;

/** Messages of one request; `left` counts further matches that did not fit. */
export type MessagePage = Readonly<{ messages: readonly Stored[]; left: number; last: number; upTo: number }>;

/**
 * The last message of each subject, any number of subjects, at or before a sequence where one is named; those without
 * any are left out. Exact subjects only.
 *
 * Fails with `UNAVAILABLE` when the broker does not answer for a while.
 */
export async function lastMessages(
  nc: NatsConnection,
  stream: string,
  { subjects, upTo }: Readonly<{ subjects: readonly string[]; upTo?: number }>,
): Promise<Stored[]> {
  const all: Stored[] = [];
  // The broker takes 0 for no bound.
  if (upTo === 0) return all;
  const bound = upTo === undefined ? {} : { up_to_seq: upTo };
  for (let from = 0; from < subjects.length; from += maxSubjects) {
    const question = { multi_last: subjects.slice(from, from + maxSubjects), max_bytes: maxReplyBytes, ...bound };
    let page = await query(nc, stream, question);
    all.push(...page.messages);
    while (page.left > 0 && page.messages.length > 0) {
      page = await query(nc, stream, { ...question, seq: page.last + 1, up_to_seq: page.upTo });
      all.push(...page.messages);
    }
  }
  return all;
}

/**
 * The last message of a subject as the stream's leader has it: what is acknowledged is there.
 *
 * Any copy answers a direct read, also one that lags, so "there is none" is certain only here. Fails with `UNAVAILABLE`
 * when the leader does not answer.
 */
export async function lastAtLeader(nc: NatsConnection, stream: string, subject: string): Promise<Stored | undefined> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    try {
      const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
      return last
        ? { subject, sequence: last.seq, bytes: last.data, header: (name) => last.header.last(name) }
        : undefined;
    } catch (cause) {
      if (performance.now() > deadline || nc.isClosed())
        throw new AppError('UNAVAILABLE', `The leader of ${stream} did not answer a read`, { cause });
      await wait(100 + Math.random() * 200);
    }
  }
}

/** One message by its sequence, if it is (still) there. */
export async function messageAt(nc: NatsConnection, stream: string, sequence: number): Promise<Stored | undefined> {
  return (await query(nc, stream, { seq: sequence })).messages[0];
}

/** The messages of a subject or a pattern from a sequence on, in order, at most so many and about so many bytes. */
export async function messagesOf(
  nc: NatsConnection,
  stream: string,
  {
    subject,
    from,
    most,
    mostBytes = maxReplyBytes,
  }: Readonly<{ subject: string; from: number; most: number; mostBytes?: number }>,
): Promise<MessagePage> {
  return query(nc, stream, { next_by_subj: subject, seq: from, batch: most, max_bytes: mostBytes });
}

/** Repeats the request until its answer is complete: reads are safe to repeat. */
async function query(nc: NatsConnection, stream: string, question: Question): Promise<MessagePage> {
  const deadline = performance.now() + giveUpAfterMs;
  for (;;) {
    const answer = nc.isClosed() ? 'the connection is closed' : await requestOnce(nc, stream, question);
    if (typeof answer !== 'string') return answer;
    if (performance.now() > deadline || nc.isClosed())
      throw new AppError('UNAVAILABLE', `The broker did not answer a read of ${stream}: ${answer}`);
    await wait(100 + Math.random() * 200);
  }
}

/** One page, or why there is none. */
function requestOnce(nc: NatsConnection, stream: string, question: Question): Promise<MessagePage | string> {
  const messages: Stored[] = [];
  const isSingle = !('max_bytes' in question);
  return new Promise((resolve) => {
    const inbox = createInbox();
    const done = (answer: MessagePage | string): void => {
      clearTimeout(timer);
      stopListening();
      if (!subscription.isClosed()) subscription.unsubscribe();
      resolve(answer);
    };
    const timer = setTimeout(() => done(`no answer within ${attemptMs} ms`), attemptMs);
    const stopListening = onBreak(nc, done);
    const take = (msg: Msg): void => {
      const code = msg.headers?.code ?? 0;
      if (code === 0) messages.push(storedFrom(msg));
      if (code === 204 || code === 404 || (code === 0 && isSingle)) done({ messages, ...restOf(msg) });
      else if (code !== 0) done(`${code} ${msg.headers?.description ?? ''}`);
    };
    const subscription = subscribe(nc, inbox, take, ({ message }) => done(message));
    try {
      nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(question), { reply: inbox });
    } catch (caught) {
      done(caught instanceof Error ? caught.message : String(caught));
    }
  });
}

function storedFrom(msg: Msg): Stored {
  return {
    subject: msg.headers?.last('Nats-Subject') ?? '',
    sequence: Number(msg.headers?.last('Nats-Sequence')),
    bytes: msg.data,
    // The broker leaves out a header that an event lacks; the client reads that as an empty text.
    header: (name) => msg.headers?.last(name) || undefined,
  };
}

function restOf({ headers }: Msg): Omit<MessagePage, 'messages'> {
  const number = (name: string): number => Number(headers?.last(name) ?? 0);
  return { left: number('Nats-Num-Pending'), last: number('Nats-Last-Sequence'), upTo: number('Nats-UpTo-Sequence') };
}
