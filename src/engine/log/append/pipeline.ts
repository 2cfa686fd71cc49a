import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { headersFrom } from '../../../kit/shims/nats/headers.ts';
import { onBreak } from '../breaks.ts';
import { subscribe } from '../subscribe.ts';

/** A message for a stream; its headers as they go over the wire, each line with its end. */
export type Outgoing = Readonly<{ subject: string; bytes: Uint8Array; headers: string }>;

/**
 * The outcome of a message; `isOld`: the same id was stored before, nothing now. `lost` leaves open whether it is
 * stored.
 */
export type AppendReply =
  | Readonly<{ kind: 'stored'; sequence: number; isOld: boolean }>
  | Readonly<{ kind: 'refused'; code: number; description: string }>
  | Readonly<{ kind: 'lost'; why: string }>;

/** Messages in flight at most, and how long a reply may take. */
export type PipelineOptions = Readonly<{ window?: number; timeoutMs?: number }>;

type Task = Readonly<{ messages: readonly Outgoing[]; settle: (reply: AppendReply) => void }>;
type InFlight = Readonly<{ settle: (reply: AppendReply) => void; size: number; deadline: number }>;

const tickMs = 250;

/**
 * Sends messages and matches the broker's replies to them, many at a time, on one reply inbox: several times as fast as
 * the client's `publish`.
 *
 * Messages in flight when the connection breaks count as lost at once, for the client forgets those that it had not
 * sent.
 */
export class Pipeline {
  readonly #nc: NatsConnection;
  readonly #window: number;
  readonly #timeoutMs: number;
  readonly #inbox = createInbox();
  readonly #inFlight = new Map<string, InFlight>();
  readonly #queue = new Set<Task>();
  #messagesInFlight = 0;
  #lastToken = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #release: () => void;

  constructor(nc: NatsConnection, { window = 4096, timeoutMs = 5000 }: PipelineOptions = {}) {
    this.#nc = nc;
    this.#window = window;
    this.#timeoutMs = timeoutMs;
    const settle = ({ subject }: Msg, reply: AppendReply): void =>
      this.#settle(subject.slice(this.#inbox.length + 1), reply);
    const onReply = (msg: Msg): void => {
      const reply = parseReply(msg);
      if (reply) settle(msg, reply);
    };
    const replies = subscribe(nc, `${this.#inbox}.*`, onReply, ({ message: why }, msg) => {
      if (msg.subject) settle(msg, { kind: 'lost', why });
    });
    const stopListening = onBreak(nc, (why) => this.#loseAll(why));
    this.#release = () => {
      replies.unsubscribe();
      stopListening();
    };
  }

  /** Releases the reply inbox on the connection, which lives on; messages in flight count as lost. Idempotent. */
  close(): void {
    this.#release();
    const why = 'the sender was closed';
    for (const { settle } of this.#queue) settle({ kind: 'lost', why });
    this.#queue.clear();
    this.#loseAll(why);
  }

  /** Sends one message, or all messages of a batch; one reply speaks for all. Waits its turn, never rejects. */
  send(messages: readonly Outgoing[]): Promise<AppendReply> {
    return new Promise((settle) => {
      const task = { messages, settle };
      if (this.#queue.size === 0 && this.#hasRoomFor(task)) this.#transmit(task);
      else this.#queue.add(task);
    });
  }

  /** A batch larger than the window goes alone. */
  #hasRoomFor({ messages }: Task): boolean {
    return this.#messagesInFlight === 0 || this.#messagesInFlight + messages.length <= this.#window;
  }

  #transmit({ messages, settle }: Task): void {
    const token = String(++this.#lastToken);
    this.#messagesInFlight += messages.length;
    this.#inFlight.set(token, { settle, size: messages.length, deadline: performance.now() + this.#timeoutMs });
    this.#timer ??= setInterval(() => this.#expire(), tickMs);
    const reply = `${this.#inbox}.${token}`;
    try {
      for (const { subject, bytes, headers: lines } of messages)
        this.#nc.publish(subject, bytes, { reply, headers: headersFrom(lines) });
    } catch (caught) {
      this.#settle(token, { kind: 'lost', why: caught instanceof Error ? caught.message : String(caught) });
    }
  }

  #settle(token: string, reply: AppendReply): void {
    const entry = this.#inFlight.get(token);
    if (!entry) return;
    this.#inFlight.delete(token);
    this.#messagesInFlight -= entry.size;
    entry.settle(reply);
    this.#admit();
    if (this.#inFlight.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #admit(): void {
    for (const task of this.#queue) {
      if (!this.#hasRoomFor(task)) return;
      this.#queue.delete(task);
      this.#transmit(task);
    }
  }

  #expire(): void {
    const now = performance.now();
    for (const [token, { deadline }] of this.#inFlight) {
      if (deadline < now) this.#settle(token, { kind: 'lost', why: `no answer within ${this.#timeoutMs} ms` });
    }
  }

  #loseAll(why: string): void {
    for (const token of this.#inFlight.keys()) this.#settle(token, { kind: 'lost', why });
  }
}

type Ack = Readonly<{ seq?: number; duplicate?: boolean; error?: { err_code?: number; description?: string } }>;

/** An empty reply without a status only confirms that a batch has started. */
function parseReply({ data, headers: status }: Msg): AppendReply | undefined {
  if (data.length === 0) return status?.code === 503 ? { kind: 'lost', why: 'no stream answers (503)' } : undefined;
  const { seq, duplicate, error }: Ack = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  if (error) return { kind: 'refused', code: error.err_code ?? 0, description: error.description ?? '' };
  return typeof seq === 'number' ? { kind: 'stored', sequence: seq, isOld: duplicate === true } : undefined;
}
