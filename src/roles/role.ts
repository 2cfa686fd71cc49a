import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import { failureOf } from '../kit/failure.ts';
import { type Observed, observedOf } from '../kit/observed.ts';
import { tracingOptions, type TracingOptions } from '../kit/tracing/settings.ts';
import type { Context } from './context.ts';
import type { RoleName } from '../role-names.ts';

/**
 * A part of the program that runs: where it can be reached, how it is, when it failed, how it is stopped.
 *
 * `checks` are shown by `/readyz` and `gauges` by `/metrics` of the process; what runs in a child process reports the
 * same over its channel.
 */
export type Part = Observed &
  Readonly<{
    name: string;
    urls: Readonly<Record<string, string>>;
    /** Rejects when the part cannot continue; never resolves. */
    failed: Promise<never>;
    stop: () => Promise<void>;
  }>;

/** The context of a role's start: that of every role, and the parts that run already. */
export type RoleContext = Context & Readonly<{ running: readonly Part[] }>;

/**
 * A role: a module of the program that a process may run or not, one file each, all of them in `all.ts`.
 *
 * @example
 * export const auditor: Role = {
 *   name: 'auditor',
 *   async *start(context) {
 *     yield looping('comparison', context.signal, (signal) => compare(context, signal));
 *   },
 * };
 */
export type Role = Readonly<{
  name: RoleName;
  /**
   * Yields each of its parts once that runs; a process stops them in the opposite order. Called for every role before
   * the first of them runs, so that a role may start what needs none of the others.
   */
  start: (context: RoleContext) => AsyncIterable<Part>;
}>;

/** A part that is a loop: it ends with its signal, and an error before that is its failure. */
export function looping(
  name: string,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<void>,
  { checks = [], gauges = [] }: Partial<Observed> = {},
): Part {
  const ending = new AbortController();
  const signal = outer ? AbortSignal.any([outer, ending.signal]) : ending.signal;
  const done = run(signal);
  const failed = failureOf([done], signal);
  const stop = async (): Promise<void> => {
    ending.abort();
    await done.catch(() => undefined);
  };
  return { name, urls: {}, checks, gauges, failed, stop };
}

/** The address that a part which runs already is reached at under a name. */
export function urlOf(running: readonly Part[], name: string): string | undefined {
  return running.map(({ urls }) => urls[name]).find((url) => url !== undefined);
}

/** The checks and figures of the process: of its stores, and of the parts that run. */
export function observedIn({ observed, running }: RoleContext): Observed {
  return observedOf([observed, ...running]);
}

/** How a process of this program names itself in traces: `part` where it is one of several of an instance. */
export function tracesOf(config: Config, version: string, part?: string): TracingOptions {
  const { otelServiceName: name, network } = config;
  return tracingOptions(part === undefined ? config : { ...config, otelServiceName: `${name}-${part}` }, {
    'service.version': version,
    'service.instance.id': randomUUID(),
    'annals.network': network,
  });
}
