/** Something found: what it is about, and a sentence. */
export type Finding = Readonly<{ component: string; message: string }>;

/** What one look found: reasons against relying on the process, and what makes no answer wrong. */
export type Findings = Readonly<{ reasons?: readonly Finding[]; warnings?: readonly Finding[] }>;

/**
 * One look at how something is, for `/readyz`.
 *
 * A look that fails or takes too long is a reason by itself: `component` does not answer. Findings are plain data, so that they can
 * come from a child process over its channel as well.
 */
export type Check = Readonly<{ component: string; look: () => Promise<Findings> }>;

/** Figures for `/metrics` in Prometheus' text format: a registry of this process, or what a child process says of itself. */
export type Figures = Readonly<{ metrics: () => Promise<string> }>;

/** What is observed of a part of the process as long as it runs. */
export type Observed = Readonly<{ checks: readonly Check[]; gauges: readonly Figures[] }>;
