import type { Logger } from '../logger.ts';
import type { TracingOptions } from './settings.ts';

/** What a span says beside its name and times, named as the semantic conventions of OpenTelemetry name it. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The role of a span in a call or a message. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** How a span is opened. */
export type SpanOptions = Readonly<{
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /**
   * Values of `traceparent` that the span follows from, instead of the span that is open: none starts a trace. Where
   * they are of several traces, the span is in each of them; those of one trace are its parent and its links.
   */
  parents?: readonly string[];
}>;

/** A span that is open; without tracing, or where its trace is not sampled, it records nothing. */
export type OpenSpan = Readonly<{
  /** Adds attributes. */
  set: (attributes: SpanAttributes) => void;
  /** Names the span anew. */
  rename: (name: string) => void;
  /** Marks the span as failed, with a low-cardinality word as its `error.type`; never with a message. */
  fail: (errorType: string) => void;
  /** Runs work whose spans are children of this one. */
  within: <T>(work: () => T) => T;
  /** Ends the span, once. */
  end: () => void;
}>;

/** The part that records spans, which is loaded only where they are exported. */
export type SpanRecorder = Readonly<{
  open: (name: string, options: SpanOptions) => OpenSpan;
  span: <T>(name: string, options: SpanOptions, work: (open: OpenSpan) => Promise<T>) => Promise<T>;
  /** The spans that are open here, first the one that facts and calls name as their parent. */
  traceparent: () => string | undefined;
  annotate: (attributes: SpanAttributes, name?: string) => void;
  /** Exports what is recorded, and records no more. */
  stop: () => Promise<void>;
}>;

let tracer: SpanRecorder | undefined;

const silent: OpenSpan = {
  set: () => undefined,
  rename: () => undefined,
  fail: () => undefined,
  within: (work) => work(),
  end: () => undefined,
};

/**
 * Records spans of this process and exports them, where an endpoint is set; else nothing is loaded, and `span` is the
 * work itself. Returns the function that exports the last ones.
 */
export async function startTracing(options: TracingOptions, logger: Logger): Promise<() => Promise<void>> {
  if (options.endpoint === undefined) return async () => undefined;
  const { createTracer } = await import('./recorder.ts');
  const started = createTracer({ ...options, endpoint: options.endpoint }, logger);
  tracer = started;
  return async () => {
    if (tracer === started) tracer = undefined;
    await started.stop();
  };
}

/** Returns whether spans are recorded: for what would cost something even without. */
export const isTracing = (): boolean => tracer !== undefined;

/**
 * Runs work within a span, a child of the one that is open; a failure of the work marks it and is passed on.
 *
 * @example await span('sync actions', { parents: [] }, () => syncActions())
 */
export function span<T>(name: string, options: SpanOptions, work: (open: OpenSpan) => Promise<T>): Promise<T> {
  return tracer === undefined ? work(silent) : tracer.span(name, options, work);
}

/** Opens a span that the caller ends, where work is no function: in hooks of a server. */
export function openSpan(name: string, options: SpanOptions): OpenSpan {
  return tracer === undefined ? silent : tracer.open(name, options);
}

/** Adds attributes to the open span, and names it anew where a name is set. */
export function annotate(attributes: SpanAttributes, name?: string): void {
  tracer?.annotate(attributes, name);
}

/** The open span as a header of calls to others, where there is one; `-00` at its end where it is not recorded. */
export function currentTraceparent(): string | undefined {
  return tracer?.traceparent();
}

/** The open span as events name it: only where it is recorded, so that the name leads somewhere. */
export function recordedTraceparent(): string | undefined {
  const current = tracer?.traceparent();
  return current?.endsWith('01') === true ? current : undefined;
}
