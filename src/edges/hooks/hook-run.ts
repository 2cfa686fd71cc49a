import pLimit from 'p-limit';
import { RecordDeliveries } from '../../commands/hooks/delivering.ts';
import type { KnownHook, WaitingEntity } from '../../commands/hooks/hook-state.ts';
import type { EventPages } from '../../engine/archive/event-pages.ts';
import type { Log } from '../../engine/log/log.ts';
import { type Kind, type StreamName, streamTable } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import { repeat } from '../../kit/repeat.ts';
import type { SpanOptions } from '../../kit/tracing/spans.ts';
import { span } from '../../kit/tracing/tracing.ts';
import { wait } from '../../kit/wait.ts';
import { dispatch } from '../bus.ts';
import { dueIn } from './due-events.ts';
import { type DueEvent, entityKey, Progress } from './progress.ts';
import type { FailedAttempt, HookSender } from './sender.ts';
import { fingerprintOf, type HookKey, secretsOf, senderNameOf, signedHeaders } from './signing.ts';

/** The part of the log that deliveries need. */
export type HookLog = Pick<Log, 'append' | 'last' | 'lastOfAll' | 'stored' | 'watch'>;

/** What deliveries of all hooks work with. */
export type DeliveryOptions = Readonly<{
  log: HookLog;
  pages: EventPages;
  key: HookKey;
  sender: HookSender;
  /** The name by which receivers are asked; undefined for that of the key. */
  origin?: string | undefined;
  /** Pauses before further attempts. */
  retriesMs: readonly number[];
  logger: Logger;
}>;

const pageBounds = { most: 64, mostBytes: 256 * 1024 } as const;
/** Entities that wait at most, before no further page is read. */
const mostWaiting = 64;
const sentAtOnce = 8;
const mostUnrecorded = 256;
const recordEveryMs = 1_000;
const retryMs = 1_000;
/** A hint may be lost. */
const readEveryMs = 5_000;
const shortestLookMs = 20;
/** The share of a pause that chance may add, so that receivers that were away are not met by all at once. */
const jitter = 0.2;
const mostWaitMs = 86_400_000;

/**
 * Delivers the events of one hook as it is at its start, until the signal aborts or the hook has changed or ended.
 *
 * Each stream is read on its own; a page is done once each of its entities has been delivered or waits. Entities that
 * wait are retried beside that, each in its order.
 */
export async function runHook(
  options: DeliveryOptions,
  hook: string,
  { known, signal: outer }: Readonly<{ known: KnownHook; signal: AbortSignal }>,
): Promise<void> {
  const ending = new AbortController();
  const run = new HookRun(options, new Progress(hook, known, Date.now()), {
    known,
    signal: AbortSignal.any([outer, ending.signal]),
    end: () => ending.abort(),
  });
  await run.run();
}

/** A span in the trace of the event; it names no address, which may hold a password. */
function spanOf({ id, stream, sequence, traceparent }: DueEvent): SpanOptions {
  const attributes = {
    'http.request.method': 'POST',
    'cloudevents.event_id': id,
    'annals.position': `${stream}:${sequence}`,
  };
  return { kind: 'client', attributes, parents: traceparent === undefined ? [] : [traceparent] };
}

type RunContext = Readonly<{ known: KnownHook; signal: AbortSignal; end: () => void }>;

/** One hook under delivery; mutable. */
class HookRun {
  readonly #options: DeliveryOptions;
  readonly #progress: Progress;
  readonly #known: KnownHook;
  readonly #signal: AbortSignal;
  readonly #end: () => void;
  readonly #readDue: ReturnType<typeof dueIn>;
  readonly #slots = pLimit(sentAtOnce);
  readonly #retrySlots = pLimit(sentAtOnce);
  readonly #busy = new Map<string, Promise<void>>();
  #recording: Promise<void> = Promise.resolve();

  constructor(options: DeliveryOptions, progress: Progress, { known, signal, end }: RunContext) {
    this.#options = options;
    this.#progress = progress;
    this.#known = known;
    this.#signal = signal;
    this.#end = end;
    this.#readDue = dueIn(known);
  }

  async run(): Promise<void> {
    const { key, logger: log } = this.#options;
    const signal = this.#signal;
    if (this.#known.key !== fingerprintOf(key)) this.#progress.end('secret_lost');
    const loops = this.#progress.hasEnded
      ? []
      : [...this.#known.streams.map((stream) => this.#follow(stream as StreamName)), this.#retry()];
    const recording = repeat('deliveries could not be recorded', () => this.#recordIfDue(), {
      everyMs: recordEveryMs,
      log,
      signal,
    });
    await Promise.all([...loops, recording]);
    await Promise.all(this.#busy.values());
  }

  /** Reads a stream page by page and delivers what is due. */
  async #follow(stream: StreamName): Promise<void> {
    const signal = this.#signal;
    const kinds = Object.keys(streamTable[stream].kinds) as Kind[];
    let hint = new AbortController();
    const unwatch = this.#options.log.watch(kinds, () => hint.abort());
    const step = async (): Promise<void> => {
      if (await this.#isHeld()) return;
      hint = new AbortController();
      const page = await this.#options.pages(stream, this.#progress.claimed(stream), pageBounds);
      const last = page.at(-1)?.sequence;
      if (last === undefined) return await wait(readEveryMs, AbortSignal.any([signal, hint.signal]));
      this.#progress.claim(stream, last);
      const due = page.flatMap((event) => this.#readDue(stream, event) ?? []);
      await this.#deliverPage(due);
      if (signal.aborted || this.#progress.hasEnded) return;
      this.#progress.advance(stream, last);
      if (this.#progress.unrecorded >= mostUnrecorded) await this.#record();
    };
    await repeat('events of a webhook could not be read', step, {
      everyMs: 0,
      retryMs,
      log: this.#options.logger,
      signal,
    });
    unwatch();
  }

  /** Waits a moment where the receiver requested a pause, or where as many entities wait as may, or at the end. */
  async #isHeld(): Promise<boolean> {
    const pauseMs = this.#progress.pausedUntil - Date.now();
    const isFull = this.#progress.waiting.size >= mostWaiting || this.#progress.hasEnded;
    if (pauseMs <= 0 && !isFull) return false;
    await wait(isFull ? retryMs / 2 : Math.min(pauseMs, retryMs), this.#signal);
    return true;
  }

  /** Delivers events in the order of each entity; those of an entity that waits are left to the retries. */
  async #deliverPage(due: readonly DueEvent[]): Promise<void> {
    const byEntity = Map.groupBy(
      due.filter((event) => !this.#progress.waiting.has(entityKey(event))),
      entityKey,
    );
    await Promise.all([...byEntity.values()].map((events) => this.#slots(() => this.#deliverInOrder(events))));
  }

  /** Sends events of one entity until one is not acknowledged; returns whether all were. */
  async #deliverInOrder(events: readonly DueEvent[]): Promise<boolean> {
    const { sender, key, origin = senderNameOf(key) } = this.#options;
    for (const event of events) {
      const refusal = await sender.admit({ url: this.#known.url, origin }, this.#signal).catch(() => undefined);
      if (this.#signal.aborted || this.#progress.hasEnded) return false;
      if (this.#progress.pausedUntil > Date.now()) {
        this.#progress.hold(event, this.#progress.pausedUntil);
        return false;
      }
      if (refusal) return this.#fail(event, refusal);
      if (!(await this.#deliver(event))) return false;
    }
    return true;
  }

  async #deliver(event: DueEvent): Promise<boolean> {
    const { key, sender } = this.#options;
    const now = Date.now();
    const secrets = secretsOf(key, this.#progress.hook, { ...this.#known, at: now });
    const { id, body } = event;
    const headers = signedHeaders({ id, timestamp: Math.floor(now / 1000), body }, { key, secrets });
    const message = { url: this.#known.url, headers, body };
    const attempt = await span('POST webhook', spanOf(event), async (open) => {
      const sent = await sender.send(message, this.#signal);
      open.set({ 'http.response.status_code': sent.status });
      if (sent.outcome !== 'acknowledged') open.fail(String(sent.status ?? 'no_answer'));
      return sent;
    }).catch(() => undefined);
    if (attempt === undefined) return false;
    if (attempt.outcome === 'acknowledged') {
      this.#progress.acknowledge(event, Date.now());
      return true;
    }
    return this.#fail(event, attempt);
  }

  /** Has an event wait for another attempt, or ends the hook after the last one. */
  #fail(event: DueEvent, attempt: FailedAttempt): false {
    const { retriesMs } = this.#options;
    const failed = this.#progress.waiting.get(entityKey(event));
    const attempts = failed?.sequence === event.sequence ? failed.attempts : 0;
    const pauseMs = (retriesMs[attempts] ?? 0) * (1 + Math.random() * jitter);
    const requestedMs = Math.min(attempt.waitMs, mostWaitMs);
    if (requestedMs > 0) this.#progress.pause(Date.now() + requestedMs);
    this.#progress.fail(event, attempt, Date.now() + Math.max(pauseMs, requestedMs));
    if (attempt.outcome === 'gone') this.#progress.end('gone');
    else if (attempts >= retriesMs.length) this.#progress.end('failing');
    if (this.#progress.hasEnded) void this.#record().catch(() => undefined);
    return false;
  }

  /** Starts a retry of each entity whose time has come. */
  async #retry(): Promise<void> {
    while (!this.#signal.aborted) {
      const now = Date.now();
      let nextMs = retryMs;
      for (const [key, waiting] of this.#progress.waiting) {
        const dueInMs = Math.max(Date.parse(waiting.nextAt), this.#progress.pausedUntil) - now;
        if (dueInMs > 0) nextMs = Math.min(nextMs, dueInMs);
        else if (!this.#busy.has(key)) this.#startRetry(key, waiting);
      }
      await wait(Math.max(nextMs, shortestLookMs), this.#signal);
    }
  }

  #startRetry(key: string, waiting: WaitingEntity): void {
    const work = async (): Promise<void> => {
      await this.#retrySlots(() => this.#catchUp(waiting));
    };
    const done = work()
      .catch(async (err: unknown) => {
        this.#options.logger.warn({ err, hook: this.#progress.hook }, 'an entity of a webhook could not be retried');
        await wait(retryMs, this.#signal);
      })
      .finally(() => this.#busy.delete(key));
    this.#busy.set(key, done);
  }

  /** Delivers the events of an entity that waits, up to what was read of its stream; then it waits no more. */
  async #catchUp({ stream, kind, entity, sequence }: WaitingEntity): Promise<void> {
    for (let from = sequence; !this.#signal.aborted;) {
      const claimed = this.#progress.claimed(stream);
      const stored = await this.#options.log.stored(kind as Kind, entity, { after: from - 1, limit: pageBounds.most });
      const within = stored.filter((one) => one.sequence <= claimed);
      const due = within.flatMap((event) => this.#readDue(stream, event) ?? []);
      if (!(await this.#deliverInOrder(due))) return;
      from = (within.at(-1)?.sequence ?? from - 1) + 1;
      const isEnd = within.length === 0 || within.length < stored.length || stored.length < pageBounds.most;
      if (isEnd && this.#progress.claimed(stream) === claimed) {
        this.#progress.waiting.delete(entityKey({ kind, entity }));
        return;
      }
    }
  }

  async #recordIfDue(): Promise<void> {
    if (this.#progress.isDue(Date.now())) await this.#record();
  }

  /** Records what there is, one batch after the other; a hook that an operator has changed since ends this run. */
  async #record(): Promise<void> {
    const own = this.#recording.then(() => this.#recordNow());
    this.#recording = own.catch(() => undefined);
    await own;
  }

  async #recordNow(): Promise<void> {
    const deliveries = this.#progress.record(Date.now());
    try {
      const command = new RecordDeliveries(new Map([[deliveries.hook, deliveries]]), { at: deliveries.at });
      const { facts } = await dispatch(this.#options.log, command);
      if (facts === 0 || deliveries.end !== undefined) this.#end();
    } catch (caught) {
      this.#progress.restore(deliveries);
      throw caught;
    }
  }
}
