/** The position of a span: its trace, itself, and whether it is recorded. */
export type SpanContext = Readonly<{ traceId: string; spanId: string; isSampled: boolean }>;

const form = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;
const zeros = /^0+$/;

/** The context that a header `traceparent` names (W3C Trace Context, version 00); undefined where it is malformed. */
export function parseTraceparent(header: unknown): SpanContext | undefined {
  const [, traceId, spanId, flags] = (typeof header === 'string' ? form.exec(header) : null) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** A header `traceparent` where it is well-formed; anything else is as if it were absent. */
export function traceparentOf(header: unknown): string | undefined {
  const context = parseTraceparent(header);
  return context && formatTraceparent(context);
}

/** The same as a header. */
export function formatTraceparent({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
