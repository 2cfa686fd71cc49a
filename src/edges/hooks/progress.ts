import type {
  DeliveryFailure,
  DisabledReason,
  HookPosition,
  KnownHook,
  WaitingEntity,
} from '../../commands/hooks/hook-state.ts';
import type { RecordedDeliveries } from '../../commands/hooks/delivering.ts';

/** An event that is due: its bytes, and where it lies. */
export type DueEvent = Readonly<{
  stream: string;
  kind: string;
  entity: string;
  sequence: number;
  id: string;
  /** The span that wrote it. */
  traceparent?: string | undefined;
  body: Uint8Array;
}>;

/** Names the entity of an event within a hook. */
export type EntityKey = string;

const mostFailures = 16;
/** Progress without any delivery, as over events that the filter passes over, is recorded after so many events … */
const unrecordedEvents = 5_000;
/** … or so long. */
const unrecordedMs = 60_000;

/** The key of an entity: it is the same for what waits and for events. */
export function entityKey({ kind, entity }: Pick<WaitingEntity, 'kind' | 'entity'>): EntityKey {
  return `${kind} ${entity}`;
}

/**
 * How far one process is with a hook; mutable, and always such that it may be recorded: after a crash nothing that was
 * not acknowledged is passed over.
 *
 * `done` of a stream is what is recorded: all events up to it are delivered, passed over or of an entity that waits.
 * `claimed` is how far events were read: those of an entity that waits, up to it, are left to the retries.
 */
export class Progress {
  readonly hook: string;
  readonly epoch: number;
  readonly waiting = new Map<EntityKey, WaitingEntity>();
  readonly #positions: readonly HookPosition[];
  readonly #done: Map<string, number>;
  readonly #claimed: Map<string, number>;
  #pausedUntil: number;
  #delivered = 0;
  #failed = 0;
  #failures: DeliveryFailure[] = [];
  #end: RecordedDeliveries['end'];
  #advanced = 0;
  #recordedAt: number;

  constructor(hook: string, known: KnownHook, now: number) {
    this.hook = hook;
    this.epoch = known.epoch;
    this.#positions = known.positions;
    this.#done = new Map(known.positions.map(({ stream, sequence }) => [stream, sequence]));
    this.#claimed = new Map(this.#done);
    for (const one of known.waiting) this.waiting.set(entityKey(one), one);
    this.#pausedUntil = known.pausedUntil === undefined ? 0 : Date.parse(known.pausedUntil);
    this.#recordedAt = now;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Deliveries and failures that are not in the log yet. */
  get unrecorded(): number {
    return this.#delivered + this.#failed;
  }

  /** Milliseconds since 1970 before which nothing is sent. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  claimed(stream: string): number {
    return this.#claimed.get(stream) ?? 0;
  }

  claim(stream: string, sequence: number): void {
    this.#claimed.set(stream, sequence);
  }

  advance(stream: string, sequence: number): void {
    this.#advanced += sequence - (this.#done.get(stream) ?? 0);
    this.#done.set(stream, sequence);
  }

  /** An event was acknowledged; an entity that waits goes on with what follows it. */
  acknowledge(event: DueEvent, now: number): void {
    this.#delivered += 1;
    const waiting = this.waiting.get(entityKey(event));
    if (!waiting) return;
    const next = { sequence: event.sequence + 1, attempts: 0, nextAt: new Date(now).toISOString() };
    this.waiting.set(entityKey(event), { ...waiting, ...next });
  }

  /** An attempt failed: the entity waits. */
  fail(event: DueEvent, failure: Pick<DeliveryFailure, 'status' | 'reason'>, dueAt: number): void {
    this.#failed += 1;
    const waiting = this.hold(event, dueAt, 1);
    const { id, stream, sequence } = event;
    const at = new Date().toISOString();
    const { status, reason } = failure;
    this.#failures.push({
      event: id,
      stream,
      sequence,
      attempt: waiting.attempts,
      at,
      ...(status !== undefined && { status }),
      reason,
    });
    if (this.#failures.length > mostFailures) this.#failures.shift();
  }

  /** Leaves an event and what follows it of its entity to the retries. */
  hold({ stream, kind, entity, sequence }: DueEvent, dueAt: number, attempts = 0): WaitingEntity {
    const before = this.waiting.get(entityKey({ kind, entity }));
    const isSame = before?.sequence === sequence && before.attempts > 0;
    const waiting = {
      stream,
      kind,
      entity,
      sequence,
      attempts: (isSame ? before.attempts : 0) + attempts,
      since: isSame ? before.since : new Date().toISOString(),
      nextAt: new Date(dueAt).toISOString(),
    };
    this.waiting.set(entityKey({ kind, entity }), waiting);
    return waiting;
  }

  pause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }

  end(reason: Exclude<DisabledReason, 'operator'>): void {
    this.#end ??= reason;
  }

  /** Whether it is time to record. */
  isDue(now: number): boolean {
    if (this.unrecorded > 0 || this.hasEnded) return true;
    return this.#advanced >= unrecordedEvents || (this.#advanced > 0 && now - this.#recordedAt >= unrecordedMs);
  }

  /** What is to be recorded now; `restore` takes it back where that failed. */
  record(now: number): RecordedDeliveries {
    const [delivered, failed, failures] = [this.#delivered, this.#failed, this.#failures];
    [this.#delivered, this.#failed, this.#failures, this.#advanced] = [0, 0, [], 0];
    this.#recordedAt = now;
    const positions = this.#positions.map((one) => ({ ...one, sequence: this.#done.get(one.stream) ?? one.sequence }));
    const isPaused = this.#pausedUntil > now;
    return {
      hook: this.hook,
      epoch: this.epoch,
      at: new Date(now).toISOString(),
      positions,
      waiting: [...this.waiting.values()],
      pausedUntil: isPaused ? new Date(this.#pausedUntil).toISOString() : undefined,
      delivered,
      failed,
      failures,
      end: this.#end,
    };
  }

  restore({ delivered, failed, failures }: RecordedDeliveries): void {
    this.#delivered += delivered;
    this.#failed += failed;
    this.#failures = [...failures, ...this.#failures].slice(-mostFailures);
  }
}
