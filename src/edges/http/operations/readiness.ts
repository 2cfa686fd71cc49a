import prettyMs from 'pretty-ms';
import { toAppError } from '../../../commands/errors.ts';
import { SyncRounds } from '../../../projections/rounds/queries.ts';
import type { RoundRow } from '../../../projections/tables.ts';
import { archiveFindings } from '../../audit/standing.ts';
import { ask } from '../../bus.ts';
import type { BrokerState, Generation, RestSettings } from '../../indexer/rest/dependencies.ts';
import { type Source, sources } from '../../../events/words.ts';
import type { LagTracker } from '../../indexer/rest/lag.ts';
import type { RouteDependencies } from '../../indexer/rest/shared.ts';
import { within } from '../../kit/within.ts';

/** Something found: what it is about, and a sentence. */
export type Finding = Readonly<{ component: string; message: string }>;

/** Ready as long as there are no reasons; warnings make no answer wrong. */
export type Readiness = Readonly<{
  reasons: readonly Finding[];
  warnings: readonly Finding[];
  durability: string | null;
}>;

/** As long as a read may take: a busy database is not one that is down. */
const lookTimeoutMs = 5000;
const lagWarnedFromMs = 10_000;
/** A source is late after this many intervals without a completed round. */
const lateAfterIntervals = 3;

/**
 * What stands against relying on this instance.
 *
 * Red only when the database or the broker is down, a projection has stopped or is not built yet, or a source has no completed
 * round in the log; everything else is a warning (spec 2, open points: operations).
 */
export async function assess({ reader, broker, archive, lag, clock, settings }: RouteDependencies): Promise<Readiness> {
  const [rows, generations, state, archived] = await Promise.all([
    attempt(
      'database',
      async () => await reader.read((reading) => ask(reading, new SyncRounds({ onceAllIsBuilt: true }))),
    ),
    attempt('database', async () => await reader.generations()),
    attempt('broker', broker),
    attempt('archive', archive),
  ]);
  const lost = [state.failure, rows.failure ?? generations.failure].filter((failure) => failure !== undefined);
  const now = clock();
  return {
    reasons: [...lost, ...stopped(generations.value ?? []), ...(rows.value ? neverCompleted(rows.value) : [])],
    warnings: [
      ...brokerWarnings(state.value),
      ...(archived.value ? archiveFindings(archived.value, now) : []),
      ...(rows.value ?? []).flatMap((row) => roundWarnings(row, settings, now)),
      ...stoppedRebuilds(generations.value ?? []),
      ...behind(generations.value ?? [], lag),
    ],
    durability: state.value?.durability ?? null,
  };
}

type Attempt<T> = Readonly<{ value?: T; failure?: Finding }>;

async function attempt<T>(component: string, work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await within(lookTimeoutMs, work(), 'no answer in time') };
  } catch (caught) {
    const error = toAppError(caught);
    const isBeingBuilt = error.code === 'UNAVAILABLE' && !error.cause;
    if (isBeingBuilt) return { failure: { component: 'projections', message: error.message } };
    return { failure: { component, message: `The ${component} does not answer.` } };
  }
}

/** What readers see has stopped, or what they wait for; a rebuild that stopped beside it is `stoppedRebuilds`. */
function stopped(generations: readonly Generation[]): Finding[] {
  return generations.filter((one) => !isRebuild(one, generations)).flatMap(stoppedOne);
}

function stoppedRebuilds(generations: readonly Generation[]): Finding[] {
  return generations.filter((one) => isRebuild(one, generations)).flatMap(stoppedOne);
}

function isRebuild({ projection, status }: Generation, generations: readonly Generation[]): boolean {
  return status !== 'live' && generations.some((other) => other.projection === projection && other.status === 'live');
}

function stoppedOne({ projection, generation, position, stoppedReason }: Generation): Finding[] {
  if (stoppedReason === null) return [];
  const message = `Generation ${generation} stopped after position ${position}: ${stoppedReason}`;
  return [{ component: `projection ${projection}`, message }];
}

function neverCompleted(rows: readonly RoundRow[]): Finding[] {
  return sources
    .filter((source) => !rows.some((row) => row.source === source && row.completed_at !== null))
    .map((source) => ({ component: `sync ${source}`, message: 'No round has completed yet.' }));
}

function brokerWarnings(state: BrokerState | undefined): Finding[] {
  return (state?.warnings ?? []).map((message) => ({ component: 'broker', message }));
}

/** Why nothing is followed, where a chain answers but must not be believed. */
const notFollowed: Readonly<Record<string, string | undefined>> = {
  wrong_chain: 'The chain answers with another id and is not followed until it is right again',
  chain_behind: 'The chain answers with an older height than is known and is not followed until it has caught up',
};

function roundWarnings(row: RoundRow, settings: RestSettings, now: number): Finding[] {
  const source = sources.find((one) => one === row.source);
  if (!source) return [];
  const component = `sync ${source}`;
  const ageMs = row.completed_at === null ? undefined : Math.max(now - Date.parse(row.completed_at), 0);
  const age =
    ageMs === undefined ? 'no round has completed yet' : `what is known is ${prettyMs(ageMs, { compact: true })} old`;
  const warnings: Finding[] = [];
  if (row.failed_at !== null) {
    const what = notFollowed[row.failed_reason ?? ''] ?? `The last round failed (${row.failed_reason ?? 'unknown'})`;
    warnings.push({ component, message: `${what}: ${row.failed_message ?? 'no detail'}; ${age}.` });
  } else if (ageMs !== undefined && ageMs > lateAfterIntervals * intervalOf(settings)[source]) {
    warnings.push({ component, message: `No round has completed for long; ${age}.` });
  }
  if (row.skipped.length > 0)
    warnings.push({ component, message: `${row.skipped.length} records could not be read in the last round.` });
  return warnings;
}

function intervalOf(settings: RestSettings): Record<Source, number> {
  return {
    actions: settings.actionsSyncIntervalMs,
    supernodes: settings.supernodesSyncIntervalMs,
    validators: settings.validatorsSyncIntervalMs,
  };
}

function behind(generations: readonly Generation[], lag: LagTracker): Finding[] {
  return generations.flatMap(({ projection, status, stream, position }) => {
    const ms = status === 'live' ? lag.lagMs(stream, position) : 0;
    return ms < lagWarnedFromMs
      ? []
      : [
          {
            component: `projection ${projection}`,
            message: `It is ${prettyMs(ms, { compact: true })} behind the log.`,
          },
        ];
  });
}
