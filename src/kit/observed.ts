/** Something found: what it is about, and a sentence. */
export type Finding = Readonly<{ component: string; message: string }>;

/** What one look found: reasons against relying on the process, and what makes no answer wrong. */
export type Findings = Readonly<{
  reasons?: readonly Finding[];
  warnings?: readonly Finding[];
  /** Grade in force of the log, from the one look that reads it. */
  durability?: string;
}>;

/**
 * One look at how something is, for `/readyz`.
 *
 * A look that fails or takes too long is a reason by itself: `component` does not answer. Without a `component` it is
 * passed over, for another check tells the same. Findings are plain data, so that a child process can send its own over
 * a channel.
 */
export type Check = Readonly<{ component?: string; look: () => Promise<Findings> }>;

/**
 * Figures for `/metrics` in Prometheus' text format: a registry of this process, or what a child process says of
 * itself.
 */
export type Figures = Readonly<{ metrics: () => Promise<string> }>;

/** What is observed of a part of the process as long as it runs. */
export type Observed = Readonly<{ checks: readonly Check[]; gauges: readonly Figures[] }>;

/** What is observed of several parts, in their order. */
export function observedOf(parts: readonly Observed[]): Observed {
  return { checks: parts.flatMap(({ checks }) => checks), gauges: parts.flatMap(({ gauges }) => gauges) };
}
