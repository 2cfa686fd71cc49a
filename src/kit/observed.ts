/** The component that a check reports on, and a sentence. */
export type Finding = Readonly<{ component: string; message: string }>;

/** The result of one check: reasons against relying on the process, and warnings, which make no answer wrong. */
export type Findings = Readonly<{
  reasons?: readonly Finding[];
  warnings?: readonly Finding[];
  /** The log's effective grade of durability, from the one check that reads it. */
  durability?: string;
}>;

/**
 * A check of one component, for `/readyz`.
 *
 * A check that fails or takes too long is itself a reason: `component` does not answer. Without a `component` its
 * failure is ignored, for another check reports the same. Findings are plain data, so that a child process can send its
 * own over a channel.
 */
export type Check = Readonly<{ component?: string; look: () => Promise<Findings> }>;

/** Figures for `/metrics` in Prometheus' text format: a registry of this process, or a child process's own figures. */
export type Figures = Readonly<{ metrics: () => Promise<string> }>;

/** The checks and figures of a part of the process as long as it runs. */
export type Observed = Readonly<{ checks: readonly Check[]; gauges: readonly Figures[] }>;

/** The checks and figures of several parts, in their order. */
export function observedOf(parts: readonly Observed[]): Observed {
  return { checks: parts.flatMap(({ checks }) => checks), gauges: parts.flatMap(({ gauges }) => gauges) };
}
