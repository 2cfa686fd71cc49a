import { figures } from '../../kit/figures.ts';
import type { Observed } from '../../kit/observed.ts';
import type { Config } from '../../config.ts';
import { archiveFindings, type ArchiveState } from './standing.ts';

/** How often and how fast the archive is compared with the log. */
export type ScrubSettings = Pick<Config, 'scrubIntervalMs' | 'scrubPerSecond'>;

/** How the archive of each stream stands, what the last comparison found, and what neither store has any more. */
export function observeArchive(
  state: () => Promise<ArchiveState>,
  { scrubIntervalMs, scrubPerSecond, clock }: ScrubSettings & Readonly<{ clock: () => number }>,
): Observed {
  const look = async () => ({ warnings: archiveFindings(await state(), clock()) });
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
  return { checks: [{ look }], gauges: [gauges] };
}
