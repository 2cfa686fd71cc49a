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
