import { AckPolicy, type ConsumerConfig, DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, type Msg, type NatsConnection, nanos } from '@nats-io/transport-node';
import { onBreak } from './breaks.ts';
import { subscribe } from './subscribe.ts';

/** A message as a consumer delivers it; `behind` counts those after it that it has still to deliver. */
export type Delivered = Readonly<{
  subject: string;
  sequence: number;
  order: number;
  behind: number;
  bytes: Uint8Array;
  /** When the broker stored it: nanoseconds since 1970. */
  storedNanos: string;
  /** Headers are parsed only when this is called. */
  header(name: string): string | undefined;
}>;

/**
 * The messages of a feed: all after a sequence, the last of every matching subject, or new ones on a subject (without
 * bytes).
 */
type FeedStart = Readonly<{ after: number } | { lastPer: string } | { newOf: string; after: number | undefined }>;

/** The feed broke (connection, consumer, a message lost in transit); a new one continues after the last message. */
export class FeedLost extends Error {}

const pullMessages = 1000;
/** Pulls in flight, so that the broker never waits for the next one. */
const maxPulls = 2;
const maxPullBytes = 16 * 1024 * 1024;
const pullExpiresMs = 30_000;
const heartbeatMs = 5000;
const silentChecksAllowed = 3;
const consumerLivesMs = 60_000;
/** No more messages are requested while so many, or so many bytes, wait for the reader. */
const highWater = { messages: 6000, bytes: 2 * maxPullBytes } as const;

const pull = JSON.stringify({
  batch: pullMessages,
  max_bytes: maxPullBytes,
  expires: nanos(pullExpiresMs),
  idle_heartbeat: nanos(heartbeatMs),
});

/**
 * Messages of a stream in order, on an ephemeral consumer with pull requests of our own: faster than the client's
 * iterators.
 *
 * A slow reader holds a bounded number of messages and bytes; the broker keeps the rest.
 */
export class Feed {
  /** Messages that the stream held beyond the start when the feed opened. */
  readonly pendingAtStart: number;
  readonly #nc: NatsConnection;
  readonly #consumer: string;
  readonly #inbox = createInbox();
  readonly #endings: (() => void)[] = [];
  #buffer: Delivered[] = [];
  /** Of the messages in the buffer. */
  #bytes = 0;
  #asked = 0;
  #received = 0;
  /** How many times in a row the pulse was looked for without anything heard since. */
  #silentChecks = 0;
  #lost: FeedLost | undefined;
  #waiting: (() => void) | undefined;

  /** Creates the consumer and starts reading; fails as the broker's API fails. */
  static async open(nc: NatsConnection, stream: string, start: FeedStart): Promise<Feed> {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const info = await manager.consumers.add(stream, consumerConfig(start));
    return new Feed(nc, `${stream}.${info.name}`, info.num_pending);
  }

  private constructor(nc: NatsConnection, consumer: string, pendingAtStart: number) {
    this.#nc = nc;
    this.#consumer = consumer;
    this.pendingAtStart = pendingAtStart;
    const subscription = subscribe(
      nc,
      this.#inbox,
      (msg) => this.#receive(msg),
      ({ message }) => this.#lose(message),
    );
    const watchdog = setInterval(() => this.#checkPulse(), heartbeatMs);
    this.#endings.push(
      () => subscription.isClosed() || subscription.unsubscribe(),
      () => clearInterval(watchdog),
      onBreak(nc, (why) => this.#lose(why)),
    );
    this.#refill();
  }

  /**
   * The messages that have come, at most `max`; waits for the first. Fails with `FeedLost`, also when the feed is
   * closed meanwhile.
   */
  async take(max: number): Promise<readonly Delivered[]> {
    while (this.#buffer.length === 0) {
      if (this.#lost) throw this.#lost;
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
    const accepted = this.#buffer.slice(0, max);
    this.#buffer = this.#buffer.slice(max);
    for (const { bytes } of accepted) this.#bytes -= bytes.length;
    this.#refill();
    return accepted;
  }

  /** Ends the feed and its consumer; repeatable. */
  close(): void {
    for (const end of this.#endings.splice(0)) end();
    if (!this.#nc.isClosed() && this.#lost === undefined) this.#nc.publish(`$JS.API.CONSUMER.DELETE.${this.#consumer}`);
    this.#buffer = [];
    this.#lose('the feed was closed');
  }

  #receive(msg: Msg): void {
    this.#silentChecks = 0;
    if (this.#lost) return;
    // A message comes with a place for its acknowledgement, what the broker says of the pull with none.
    if (msg.reply) this.#onMessage(msg);
    else this.#onStatus(msg);
  }

  #onMessage(msg: Msg): void {
    const message = new AckedMessage(msg);
    this.#received += 1;
    this.#asked -= 1;
    if (message.order !== this.#received) return this.#lose('a message was lost on the way');
    this.#buffer.push(message);
    this.#bytes += message.bytes.length;
    this.#wake();
    this.#refill();
  }

  /** 408: a pull expired; 409 with a rest: its bytes are used up. Anything else ends the feed, but for heartbeats. */
  #onStatus({ headers }: Msg): void {
    const code = headers?.code ?? 0;
    if (code === 100) return;
    const unserved = headers?.last('Nats-Pending-Messages');
    if ((code !== 408 && code !== 409) || !unserved)
      return this.#lose(`the broker says ${code} ${headers?.description ?? ''}`);
    this.#asked -= Number(unserved);
    this.#refill();
  }

  #refill(): void {
    if (this.#lost) return;
    if (this.#bytes >= highWater.bytes) return;
    while (this.#asked <= (maxPulls - 1) * pullMessages && this.#buffer.length + this.#asked < highWater.messages) {
      this.#asked += pullMessages;
      this.#nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${this.#consumer}`, pull, { reply: this.#inbox });
    }
  }

  #checkPulse(): void {
    this.#silentChecks += 1;
    if (this.#asked > 0 && this.#silentChecks > silentChecksAllowed) this.#lose('the broker went silent');
  }

  /** Once for each wait: to resolve what is resolved costs more than a message. */
  #wake(): void {
    const resolve = this.#waiting;
    this.#waiting = undefined;
    resolve?.();
  }

  #lose(why: string): void {
    this.#lost ??= new FeedLost(why);
    this.#wake();
  }
}

function consumerConfig(start: FeedStart): Partial<ConsumerConfig> {
  const common = {
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(consumerLivesMs),
  };
  if ('lastPer' in start)
    return { ...common, deliver_policy: DeliverPolicy.LastPerSubject, filter_subject: start.lastPer };
  const from =
    start.after === undefined
      ? { deliver_policy: DeliverPolicy.New }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: start.after + 1 };
  return { ...common, ...from, ...('newOf' in start ? { filter_subject: start.newOf, headers_only: true } : {}) };
}

/**
 * Number of tokens of an acknowledgement's subject where older servers and a plain setup name neither domain nor
 * account.
 */
const shortForm = 9;

/**
 * `$JS.ACK.[domain.account.]<stream>.<consumer>.<times>.<stream sequence>.<consumer
 * sequence>.<time>.<pending>[.random]`
 */
class AckedMessage implements Delivered {
  readonly sequence: number;
  readonly order: number;
  readonly behind: number;
  readonly bytes: Uint8Array;
  readonly storedNanos: string;
  readonly #msg: Msg;

  constructor(msg: Msg) {
    const tokens = (msg.reply ?? '').split('.');
    const at = tokens.length === shortForm ? 5 : 7;
    this.#msg = msg;
    this.sequence = Number(tokens[at]);
    this.order = Number(tokens[at + 1]);
    this.behind = Number(tokens[at + 3]);
    this.bytes = msg.data;
    this.storedNanos = tokens[at + 2] ?? '0';
  }

  get subject(): string {
    return this.#msg.subject;
  }

  header(name: string): string | undefined {
    return this.#msg.headers?.last(name) || undefined;
  }
}
