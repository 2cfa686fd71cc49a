import prettyMs from 'pretty-ms';
import type { HookPosition, KnownHook } from '../../commands/hooks/hook-state.ts';
import type { Heads } from '../../engine/log/head.ts';
import type { Log } from '../../engine/log/log.ts';
import { figures } from '../../kit/figures.ts';
import type { Finding, Findings, Observed } from '../../kit/observed.ts';
import { hooksIn } from './run-hooks.ts';

/** A hook warns once one of its entities has waited for so long. */
const failingForMs = 3_600_000;

type Seen = Readonly<{ hooks: ReadonlyMap<string, KnownHook>; heads: Heads }>;

/** The state of webhooks: a warning for each that fails for long or was disabled by what its receiver answered. */
export function observeHooks(
  log: Pick<Log, 'lastOfAll'>,
  { heads, clock }: Readonly<{ heads: () => Promise<Heads>; clock: () => number }>,
): Observed {
  const read = async (): Promise<Map<string, KnownHook>> => {
    const all = hooksIn(await log.lastOfAll('hook'));
    return new Map([...all].filter(([, { status }]) => status !== 'removed'));
  };
  const inspection = async (): Promise<Findings> => {
    const [hooks, ends] = await Promise.all([read(), heads()]);
    return { warnings: [...hooks].flatMap(([hook, known]) => warningOf(hook, known, { now: clock(), ends }) ?? []) };
  };
  const gauges = figures(
    (gauge) => ({
      delivered: gauge(
        'hook_delivered_events',
        'Events that a webhook has acknowledged since it was registered',
        'hook',
      ),
      failed: gauge('hook_failed_attempts', 'Attempts that a webhook has not acknowledged since then', 'hook'),
      lag: gauge('hook_lag_events', 'Events of a stream beyond the position of a webhook', 'hook', 'stream'),
      waiting: gauge('hook_waiting_entities', 'Entities whose events wait for another attempt', 'hook'),
      enabled: gauge('hook_enabled', 'Whether a webhook is enabled', 'hook'),
    }),
    async (): Promise<Seen> => ({ hooks: await read(), heads: await heads() }),
    (all, seen) => {
      for (const [hook, known] of seen?.hooks ?? []) {
        all.delivered.set({ hook }, known.delivered);
        all.failed.set({ hook }, known.failed);
        all.waiting.set({ hook }, known.waiting.length);
        all.enabled.set({ hook }, Number(known.status === 'enabled'));
        for (const { stream, sequence } of known.positions)
          all.lag.set({ hook, stream }, lagOf(seen?.heads ?? {}, stream, sequence));
      }
    },
  );
  return { checks: [{ look: inspection }], gauges: [gauges] };
}

/** Events of a stream beyond a position. */
export function lagOf(heads: Heads, stream: string, sequence: number): number {
  return Math.max(0, endOf(heads, stream) - sequence);
}

/**
 * Whether a position is of a stream that was created anew since; where it names no incarnation, that shows only while
 * it is beyond the end.
 */
export function isOfAnother(heads: Heads, { stream, sequence, incarnation }: HookPosition): boolean {
  const now = Object.entries(heads).find(([name]) => name === stream)?.[1]?.incarnation;
  if (incarnation !== undefined && now !== undefined) return incarnation !== now;
  return sequence > endOf(heads, stream);
}

function endOf(heads: Heads, stream: string): number {
  return Object.entries(heads).find(([name]) => name === stream)?.[1]?.lastSequence ?? 0;
}

const disabledBecause: Readonly<Record<string, string | undefined>> = {
  gone: 'its receiver answered 410 Gone',
  failing: 'the last attempt at one of its events failed',
  secret_lost: 'the key of its secret is gone; rotate it and enable the webhook',
};

type Now = Readonly<{ now: number; ends: Heads }>;

function warningOf(hook: string, known: KnownHook, { now, ends }: Now): Finding | undefined {
  const component = `webhook ${hook}`;
  const reason = disabledBecause[known.disabledReason ?? ''];
  if (reason !== undefined) return { component, message: `Nothing is sent: ${reason}.` };
  if (known.status !== 'enabled') return undefined;
  const other = known.positions.find((one) => isOfAnother(ends, one));
  if (other) return { component, message: `${other.stream} was created anew: replay it from where events are due.` };
  const since = Math.min(...known.waiting.filter(({ attempts }) => attempts > 0).map((one) => Date.parse(one.since)));
  if (now - since < failingForMs || !Number.isFinite(since)) return undefined;
  const age = prettyMs(now - since, { compact: true });
  return { component, message: `Deliveries have failed for ${age}: ${known.lastFailure?.reason ?? 'no detail'}.` };
}
