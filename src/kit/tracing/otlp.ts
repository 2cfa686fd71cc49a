import { toAppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { TracingOptions } from './settings.ts';
import type { SpanContext } from './trace-context.ts';
import type { SpanAttributes, SpanKind } from './spans.ts';

/** A span that has ended; times in milliseconds since 1970. */
export type FinishedSpan = Readonly<{
  context: SpanContext;
  parentSpanId: string | undefined;
  links: readonly SpanContext[];
  name: string;
  kind: SpanKind;
  attributes: SpanAttributes;
  isFailed: boolean;
  startMs: number;
  endMs: number;
}>;

const spansInBatch = 512;
const mostWaiting = 4096;
const everyMs = 1000;
const answerWithinMs = 10_000;
/** Answers after which the same is sent again (OTLP 1.x, retryable response codes). */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

type ExporterOptions = Readonly<{ endpoint: string }> & Pick<TracingOptions, 'headers' | 'serviceName' | 'resource'>;

/**
 * Exports spans by OTLP, as JSON over HTTP, in batches and in the background.
 *
 * Never fails and never waits for the receiver: at most 4,096 spans are kept for one that is away, the oldest go first,
 * and one warning reports a series of failures.
 */
export class SpanExporter {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #resource: object;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #waiting: FinishedSpan[] = [];
  #dropped = 0;
  #isAway = false;
  #failures = 0;
  #sending: Promise<void> | undefined;

  constructor({ endpoint, headers, serviceName, resource }: ExporterOptions, logger: Logger) {
    this.#url = `${endpoint}/v1/traces`;
    this.#headers = { ...headers, 'content-type': 'application/json' };
    this.#resource = { attributes: attributesOf({ 'service.name': serviceName, ...resource }) };
    this.#logger = logger;
    this.#timer = setInterval(() => void this.#flush(), everyMs).unref();
  }

  /** Keeps a span for the next batch. */
  add(span: FinishedSpan): void {
    if (this.#waiting.push(span) >= spansInBatch && !this.#isAway) void this.#flush();
    if (this.#waiting.length <= mostWaiting) return;
    this.#waiting.shift();
    this.#dropped += 1;
  }

  /** Sends what is kept: a second time what failed, and what ended while a batch was under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, spansInBatch);
      const outcome = await this.#post(batch);
      if (outcome === 'away') {
        this.#waiting = [...batch, ...this.#waiting];
        return;
      }
      if (outcome === 'refused') this.#dropped += batch.length;
      else {
        if (this.#isAway) this.#logger.info({ dropped: this.#dropped }, 'spans are exported again');
        [this.#isAway, this.#failures, this.#dropped] = [false, 0, 0];
      }
    }
  }

  async #post(batch: readonly FinishedSpan[]): Promise<'sent' | 'refused' | 'away'> {
    const scopeSpans = [{ scope: { name: 'annals' }, spans: batch.map(wireOf) }];
    const body = JSON.stringify({ resourceSpans: [{ resource: this.#resource, scopeSpans }] });
    try {
      const signal = AbortSignal.timeout(answerWithinMs);
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body,
        redirect: 'error',
        signal,
      });
      await answer.body?.cancel();
      if (answer.ok) return 'sent';
      const isPassing = passing.has(answer.status);
      this.#fail({ status: answer.status }, !isPassing);
      return isPassing ? 'away' : 'refused';
    } catch (caught) {
      this.#fail({ reason: toAppError(caught).message }, false);
      return 'away';
    }
  }

  /** A first failure may be a connection that was idle for too long: the second in a row is reported. */
  #fail(fields: object, isReported: boolean): void {
    this.#failures += 1;
    if (this.#isAway || !(isReported || this.#failures > 1)) return;
    this.#isAway = true;
    this.#logger.warn({ ...fields, url: this.#url }, 'spans cannot be exported');
  }
}

const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const satisfies Record<
  SpanKind,
  number
>;
const failed = 2;

/** A span as OTLP writes it in JSON: 64-bit numbers are texts. */
function wireOf(span: FinishedSpan): object {
  const { context, parentSpanId, links, name, kind, attributes, isFailed, startMs, endMs } = span;
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    parentSpanId,
    flags: 1,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributesOf(attributes),
    links: links.map(({ traceId, spanId }) => ({ traceId, spanId })),
    status: isFailed ? { code: failed } : {},
  };
}

/** A double holds microseconds since 1970, and no nanoseconds. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;

function attributesOf(attributes: SpanAttributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

function valueOf(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
