import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { toAppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type FinishedSpan, SpanExporter } from './otlp.ts';
import type { TracingOptions } from './settings.ts';
import { formatTraceparent, parseTraceparent, type SpanContext } from './trace-context.ts';
import type { SpanAttributes, OpenSpan, SpanOptions, SpanRecorder } from './spans.ts';

/** Traces that one span may be in, and links that it may have in each; beyond that they are left out. */
const mostTraces = 64;
const mostLinks = 64;

/** The open spans of a call: one, or one for each trace that a batch belongs to. */
type Scope = Readonly<{
  contexts: readonly SpanContext[];
  /** Between the clock of durations and the time of day, the same for all spans of a call. */
  epochMs: number;
  span: LiveSpan;
}>;

/** What an open span is made of in one trace. */
type Branch = Readonly<{ context: SpanContext; parentSpanId: string | undefined; links: readonly SpanContext[] }>;

/** Records spans, keeps track of those that are open across asynchronous calls, and exports those that have ended. */
export function createTracer(options: TracingOptions & Readonly<{ endpoint: string }>, logger: Logger): SpanRecorder {
  const storage = new AsyncLocalStorage<Scope>();
  const exporter = new SpanExporter(options, logger);
  const add = (ended: FinishedSpan): void => exporter.add(ended);
  const isSampled = samplerOf(options);

  const open = (name: string, { kind = 'internal', attributes = {}, parents }: SpanOptions): LiveSpan => {
    const scope = parents === undefined ? storage.getStore() : undefined;
    const from = parents?.flatMap((parent) => parseTraceparent(parent) ?? []) ?? scope?.contexts ?? [];
    const epochMs = scope?.epochMs ?? Date.now() - performance.now();
    const branches = branchesOf(from, isSampled);
    const contexts = branches.map(({ context }) => context);
    const opened: LiveSpan = new LiveSpan({ name, kind, attributes, epochMs, branches }, add, (work) =>
      storage.run({ contexts, epochMs, span: opened }, work),
    );
    return opened;
  };

  return {
    open,
    span: async (name, spanOptions, work) => {
      const opened = open(name, spanOptions);
      try {
        return await opened.within(() => work(opened));
      } catch (caught) {
        opened.fail(toAppError(caught).code);
        throw caught;
      } finally {
        opened.end();
      }
    },
    traceparent: () => {
      const [first] = storage.getStore()?.contexts ?? [];
      return first && formatTraceparent(first);
    },
    annotate: (attributes, name) => {
      const opened = storage.getStore()?.span;
      opened?.set(attributes);
      if (name !== undefined) opened?.rename(name);
    },
    stop: async () => await exporter.stop(),
  };
}

/** One branch for each trace of the parents; those of traces that are not sampled count only where no other is. */
function branchesOf(parents: readonly SpanContext[], isSampled: Sampler): readonly Branch[] {
  if (parents.length === 0) return [branch(undefined, newId(16), isSampled)];
  const traces = new Map<string, { first: SpanContext; links: SpanContext[] }>();
  for (const parent of parents) {
    const trace = traces.get(parent.traceId);
    if (!trace) traces.set(parent.traceId, { first: parent, links: [] });
    else if (trace.links.length < mostLinks) trace.links.push(parent);
  }
  const all = [...traces.values()].map(({ first, links }) => branch(first, first.traceId, isSampled, links));
  const recorded = all.filter(({ context }) => context.isSampled).slice(0, mostTraces);
  return recorded.length > 0 ? recorded : all.slice(0, 1);
}

function branch(
  parent: SpanContext | undefined,
  traceId: string,
  isSampled: Sampler,
  links: readonly SpanContext[] = [],
): Branch {
  const context = { traceId, spanId: newId(8), isSampled: isSampled(traceId, parent) };
  return { context, parentSpanId: parent?.spanId, links };
}

const newId = (bytes: number): string => randomBytes(bytes).toString('hex');

type Sampler = (traceId: string, parent: SpanContext | undefined) => boolean;

/** Hexadecimal digits of a trace id, from its random end, that a ratio is compared with. */
const digits = 13;

/** Within a process, a span without a parent of another decides for all below it. */
function samplerOf({ sampler, ratio }: Pick<TracingOptions, 'sampler' | 'ratio'>): Sampler {
  const [, rule] = /(always_on|always_off|traceidratio)$/.exec(sampler) ?? [];
  const share = { always_on: 1, always_off: 0, traceidratio: ratio }[rule ?? ''] ?? 1;
  const decide = (traceId: string): boolean => Number.parseInt(traceId.slice(-digits), 16) < share * 16 ** digits;
  return sampler.startsWith('parentbased') ? (traceId, parent) => parent?.isSampled ?? decide(traceId) : decide;
}

type Opened = Readonly<{
  name: string;
  kind: FinishedSpan['kind'];
  attributes: SpanAttributes;
  epochMs: number;
  branches: readonly Branch[];
}>;

/** A span that is open; mutable until its end. */
class LiveSpan implements OpenSpan {
  readonly within: OpenSpan['within'];
  readonly #opened: Opened;
  readonly #add: (span: FinishedSpan) => void;
  readonly #startMs = performance.now();
  readonly #attributes: Record<string, string | number | boolean | undefined>;
  #name: string;
  #isFailed = false;
  #isEnded = false;

  constructor(opened: Opened, add: (span: FinishedSpan) => void, within: OpenSpan['within']) {
    this.#opened = opened;
    this.#name = opened.name;
    this.#attributes = { ...opened.attributes };
    this.#add = add;
    this.within = within;
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.#attributes, attributes);
  }

  rename(name: string): void {
    this.#name = name;
  }

  fail(errorType: string): void {
    this.#isFailed = true;
    this.set({ 'error.type': errorType });
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { kind, epochMs, branches } = this.#opened;
    const [name, attributes, isFailed] = [this.#name, this.#attributes, this.#isFailed];
    const times = { startMs: epochMs + this.#startMs, endMs: epochMs + performance.now() };
    for (const one of branches)
      if (one.context.isSampled) this.#add({ ...one, ...times, name, kind, attributes, isFailed });
  }
}
