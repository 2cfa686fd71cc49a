import { streams } from '../../events/streams.ts';
import type { AdminState } from './admin-state.ts';

/** What an overview is made of. */
export type OverviewSources = Pick<AdminState, 'heads' | 'generations' | 'rounds' | 'archive'>;

/** Streams, generations, archive and sync at one glance, in the form that `annals status --json` prints. */
export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Reads all of it; sync is empty while its read model is not built. */
export async function readOverview({ heads, generations, rounds, archive }: OverviewSources) {
  const [ends, models, sync, archived] = await Promise.all([
    heads(),
    generations(),
    rounds().catch(() => []),
    archive(),
  ]);
  return {
    streams: streams.flatMap((stream) => {
      const head = ends[stream];
      return head ? [{ stream, ...head }] : [];
    }),
    projections: models.map((one) => ({
      ...one,
      behind: Math.max(0, (ends[one.stream]?.lastSequence ?? 0) - one.position),
    })),
    archive: archived.standings,
    lost: archived.losses,
    sync,
  };
}
