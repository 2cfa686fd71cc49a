import type { Logger } from '../logger.ts';
import type { TracingOptions } from './settings.ts';
import type { OpenSpan, SpanAttributes, SpanOptions, SpanRecorder } from './spans.ts';

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
