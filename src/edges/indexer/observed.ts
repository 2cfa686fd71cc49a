import prettyMs from 'pretty-ms';
import { type Source, sources } from '../../events/words.ts';
import { FleetStatistics } from '../../projections/fleet/queries.ts';
import { SyncRounds } from '../../projections/rounds/queries.ts';
import type { RoundRow } from '../../projections/tables.ts';
import { runQuery } from '../bus.ts';
import { figures } from '../../kit/figures.ts';
import type { Figures, Finding, Findings, Observed } from '../../kit/observed.ts';
import type { Parsed } from '../../kit/setting.ts';
import type { indexerSettings } from './settings.ts';
import { isBeingBuilt, type ObservedModels } from '../../engine/models/observed.ts';

/** How often the sources of sync are read. */
export type SyncIntervals = Pick<
  Parsed<typeof indexerSettings>,
  'actionsSyncIntervalMs' | 'supernodesSyncIntervalMs' | 'validatorsSyncIntervalMs'
>;

type Clocked = Readonly<{ clock: () => number }>;

/** A source is late after this many intervals without a completed round. */
const lateAfterIntervals = 3;

/** The state of sync and the results of probes; unreliable until every source has a completed round in the log. */
export function observeSync(read: ObservedModels['read'], options: SyncIntervals & Clocked): Observed {
  const inspection = async (): Promise<Findings> => {
    const [rows] = await Promise.allSettled([read((reading) => runQuery(reading, new SyncRounds({})))]);
    if (rows.status === 'fulfilled')
      return { reasons: neverCompleted(rows.value), warnings: rows.value.flatMap((row) => warningsOf(row, options)) };
    // The check of the read models reports which one is being built.
    if (isBeingBuilt(rows.reason)) return {};
    throw rows.reason;
  };
  return { checks: [{ component: 'database', look: inspection }], gauges: [figuresOf(read, options)] };
}

function neverCompleted(rows: readonly RoundRow[]): Finding[] {
  return sources
    .filter((source) => !rows.some((row) => row.source === source && row.completed_at !== null))
    .map((source) => ({ component: `sync ${source}`, message: 'No round has completed yet.' }));
}

/** Why nothing is followed, where a chain answers but must not be believed. */
const notFollowed: Readonly<Record<string, string | undefined>> = {
  wrong_chain: 'The chain answers with another id and is not followed until it is right again',
  chain_behind: 'The chain answers with an older height than is known and is not followed until it has caught up',
};

function warningsOf(row: RoundRow, { clock, ...intervals }: SyncIntervals & Clocked): Finding[] {
  const source = sources.find((one) => one === row.source);
  if (!source) return [];
  const component = `sync ${source}`;
  const ageMs = row.completed_at === null ? undefined : Math.max(clock() - Date.parse(row.completed_at), 0);
  const age =
    ageMs === undefined ? 'no round has completed yet' : `what is known is ${prettyMs(ageMs, { compact: true })} old`;
  const warnings: Finding[] = [];
  if (row.failed_at !== null) {
    const what = notFollowed[row.failed_reason ?? ''] ?? `The last round failed (${row.failed_reason ?? 'unknown'})`;
    warnings.push({ component, message: `${what}: ${row.failed_message ?? 'no detail'}; ${age}.` });
  } else if (ageMs !== undefined && ageMs > lateAfterIntervals * intervalsOf(intervals)[source]) {
    warnings.push({ component, message: `No round has completed for long; ${age}.` });
  }
  if (row.skipped.length > 0)
    warnings.push({ component, message: `${row.skipped.length} records could not be read in the last round.` });
  return warnings;
}

/** The interval of each source, in milliseconds. */
export function intervalsOf(settings: SyncIntervals): Record<Source, number> {
  return {
    actions: settings.actionsSyncIntervalMs,
    supernodes: settings.supernodesSyncIntervalMs,
    validators: settings.validatorsSyncIntervalMs,
  };
}

function figuresOf(read: ObservedModels['read'], { clock }: Clocked): Figures {
  return figures(
    (gauge) => ({
      age: gauge('sync_age_seconds', 'Time since the last completed round of a source', 'source'),
      height: gauge('sync_height', 'Height of the last completed round of a source', 'source'),
      failing: gauge('sync_failing', 'Whether the last round of a source failed', 'source'),
      probes: gauge('supernodes', 'Listed SuperNodes by the outcome of their latest probe', 'status'),
    }),
    async () =>
      await read(async (reading) => ({
        rounds: await runQuery(reading, new SyncRounds({})),
        fleet: await runQuery(reading, new FleetStatistics({})),
      })),
    ({ age, height, failing, probes }, seen) => {
      if (!seen) return;
      probes.set({ status: 'available' }, seen.fleet.available);
      probes.set({ status: 'unavailable' }, seen.fleet.unavailable);
      for (const { source, completed_at, completed_height, failed_at } of seen.rounds) {
        if (!sources.some((one) => one === source)) continue;
        if (completed_at !== null) age.set({ source }, Math.max(clock() - Date.parse(completed_at), 0) / 1000);
        if (completed_height !== null) height.set({ source }, completed_height);
        failing.set({ source }, Number(failed_at !== null));
      }
    },
  );
}
