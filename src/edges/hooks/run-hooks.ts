import type { KnownHook } from '../../commands/hooks/hook-state.ts';
import type { Recorded } from '../../commands/ports.ts';
import { type Leasing, whileHeld } from '../../engine/log/leases.ts';
import { catalogue } from '../../events/catalogue.ts';
import { repeat } from '../../kit/repeat.ts';
import { wait } from '../../kit/wait.ts';
import { type DeliveryOptions, runHook } from './hook-run.ts';

type Run = Readonly<{ epoch: number; stop: () => Promise<void> }>;

/** A hint may be lost, so all hooks are read again after so long. */
const readEveryMs = 15_000;

/** The hooks of some facts, by id. */
export function hooksIn(last: ReadonlyMap<string, Recorded>): Map<string, KnownHook> {
  const hooks = new Map<string, KnownHook>();
  for (const [hook, { fact }] of last)
    if (catalogue[fact.type].kind === 'hook' && 'known' in fact.data) hooks.set(hook, fact.data.known as KnownHook);
  return hooks;
}

/**
 * Delivers events to all webhooks that are enabled, until the signal ends it. One replica at a time does so, under the
 * lease `hooks`.
 *
 * Where deliveries are is read from the log alone; whoever holds the lease next resumes there.
 *
 * @example await runHooks({ log, leases, pages, key, sender, retriesMs, logger, signal })
 */
export function runHooks({
  leases,
  signal: outer,
  ...options
}: DeliveryOptions & Readonly<{ leases: Leasing; signal: AbortSignal }>): Promise<void> {
  return leases.hold('hooks', outer, ({ signal }) => superviseHooks(options, signal));
}

async function superviseHooks(options: DeliveryOptions, signal: AbortSignal): Promise<void> {
  const log = whileHeld(options.log, signal);
  const runs = new Map<string, Run>();
  const changed = new Set<string>();
  let hint = new AbortController();
  const unwatch = log.watch(['hook'], (_, hook) => {
    changed.add(hook);
    hint.abort();
  });
  let readAllAt = 0;
  const step = async (): Promise<void> => {
    hint = new AbortController();
    const isAll = performance.now() >= readAllAt;
    const ids = [...changed];
    changed.clear();
    const due = readAllAt;
    // A reading that fails has lost its hints.
    readAllAt = 0;
    const hooks = hooksIn(isAll ? await log.lastOfAll('hook') : await log.last('hook', ids));
    readAllAt = isAll ? performance.now() + readEveryMs : due;
    for (const [hook, known] of hooks) await settle({ ...options, log }, { runs, hook, known, signal });
    if (changed.size === 0) await wait(readEveryMs, AbortSignal.any([signal, hint.signal]));
  };
  const retrying = { everyMs: 0, retryMs: 1_000, log: options.logger, signal };
  await repeat('webhooks could not be read', step, retrying);
  unwatch();
  await Promise.all([...runs.values()].map(({ stop }) => stop()));
}

type Settling = Readonly<{ runs: Map<string, Run>; hook: string; known: KnownHook; signal: AbortSignal }>;

/** Starts, stops or restarts the deliveries of a hook, as it is now. */
async function settle(options: DeliveryOptions, { runs, hook, known, signal }: Settling): Promise<void> {
  const run = runs.get(hook);
  const isWanted = known.status === 'enabled';
  if (run && isWanted && run.epoch === known.epoch) return;
  await run?.stop();
  runs.delete(hook);
  if (!isWanted) return;
  const ending = new AbortController();
  const done = runHook(options, hook, { known, signal: AbortSignal.any([signal, ending.signal]) });
  done.catch((err: unknown) => options.logger.error({ err, hook }, 'deliveries of a webhook have ended'));
  const stop = async (): Promise<void> => {
    ending.abort();
    await done.catch(() => undefined);
  };
  runs.set(hook, { epoch: known.epoch, stop });
}
