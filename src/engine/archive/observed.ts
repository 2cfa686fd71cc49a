import { figures } from '../../kit/figures.ts';
import type { Observed } from '../../kit/observed.ts';
import { metaSchema } from '../models/engine/generations.ts';
import { type Pools, throughPool } from '../models/pool.ts';
import type { Parsed } from '../../kit/setting.ts';
import type { auditorSettings } from './settings.ts';
import { createCheckpoints } from './proof/checkpoints.ts';
import { createStandings, type Loss, type Status } from './store.ts';

/** The state of each stream's archive, and the events that neither store has any more. */
export type ArchiveState = Readonly<{ standings: readonly Status[]; losses: readonly Loss[] }>;

/** Returns a function that reads the state of each stream's archive, and the events that neither store has any more. */
export function archiveStateOf(pools: Pools, network: string): () => Promise<ArchiveState> {
  const known = createStandings(throughPool(pools.archive), metaSchema(network));
  return async () => {
    const [standings, losses] = await Promise.all([known.standings(), known.losses()]);
    return { standings, losses };
  };
}

const justNowMs = 10 * 60_000;

/** The reasons not to trust the stores: known damage, recent repairs, losses. */
export function archiveFindings(
  { standings, losses }: ArchiveState,
  now: number,
): Readonly<{ component: string; message: string }>[] {
  return [
    ...standings.flatMap(({ stream, findings }) =>
      findings.map((message) => ({ component: `archive ${stream}`, message })),
    ),
    ...standings
      .filter(({ repairedAt }) => repairedAt !== null && now - Date.parse(repairedAt) < justNowMs)
      .map(({ stream, repairedAt, repaired }) => ({
        component: `archive ${stream}`,
        message: `Repaired at ${repairedAt}: ${repaired.join(' ').slice(0, 1000)}`,
      })),
    ...losses.map(({ stream, first, last, reason, ids }) => ({
      component: `archive ${stream}`,
      message: `Events ${first} to ${last} are lost: ${reason}${ids.length > 0 ? ` (${ids.slice(0, 10).join(', ')})` : ''}.`,
    })),
  ];
}

/** How often and how fast the archive is compared with the log. */
export type ScrubSettings = Parsed<typeof auditorSettings>;

/**
 * The state of each stream's archive, the result of the last comparison, and the events that neither store has any
 * more.
 */
export function observeArchive(
  state: () => Promise<ArchiveState>,
  { scrubIntervalMs, scrubPerSecond, clock }: ScrubSettings & Readonly<{ clock: () => number }>,
): Observed {
  const check = async () => ({ warnings: archiveFindings(await state(), clock()) });
  const gauges = figures(
    (gauge) => ({
      archived: gauge('archive_position', 'Sequence of the last event of a stream in the archive', 'stream'),
      age: gauge(
        'archive_scrub_age_seconds',
        'Time since a stream was last compared with its archive, or since its first event',
        'stream',
      ),
      planned: gauge(
        'archive_scrub_planned_seconds',
        'How long the pause before a comparison of a stream and the comparison take, as they are set',
        'stream',
      ),
      damaged: gauge('archive_damaged', 'Whether damage was found that is not mended yet', 'stream'),
      lost: gauge('archive_lost_events', 'Events that neither the stream nor the archive has', 'stream'),
    }),
    state,
    ({ archived, age, planned, damaged, lost }, seen) => {
      for (const { stream, position, uncomparedSince, findings } of seen?.standings ?? []) {
        archived.set({ stream }, position);
        damaged.set({ stream }, Number(findings.length > 0));
        if (uncomparedSince !== null) age.set({ stream }, Math.max(clock() - Date.parse(uncomparedSince), 0) / 1000);
        planned.set({ stream }, scrubIntervalMs / 1000 + position / scrubPerSecond);
        lost.set({ stream }, 0);
      }
      for (const { stream, first, last } of seen?.losses ?? []) lost.inc({ stream }, last - first + 1);
    },
  );
  return { checks: [{ look: check }], gauges: [gauges] };
}

/** How far each log is signed, and why one is not. */
export function observeLogs({ pools, network }: Readonly<{ pools: Pools; network: string }>): Observed {
  const checkpoints = createCheckpoints(throughPool(pools.archive), metaSchema(network));
  const inspection = async () => ({
    warnings: (await checkpoints.refusals()).map(({ stream, reason }) => ({
      component: `log ${stream}`,
      message: reason,
    })),
  });
  const gauges = figures(
    (gauge) => ({
      size: gauge('log_checkpoint_size', 'Events of the checkpoint of a log that was signed last', 'stream'),
      refused: gauge(
        'log_checkpoint_refused',
        'Whether a log is not signed, for the reason that /readyz has',
        'stream',
      ),
    }),
    async () => await Promise.all([checkpoints.last(), checkpoints.refusals()]),
    ({ size, refused }, seen) => {
      const [last, refusals] = seen ?? [[], []];
      for (const one of last) {
        size.set({ stream: one.stream }, one.size);
        refused.set({ stream: one.stream }, 0);
      }
      for (const { stream } of refusals) refused.set({ stream }, 1);
    },
  );
  return { checks: [{ look: inspection }], gauges: [gauges] };
}
