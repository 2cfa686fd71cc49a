import type { ArchiveState } from '../indexer/rest/dependencies.ts';
import type { Finding } from '../http/operations/readiness.ts';

const justNowMs = 10 * 60_000;

/** What stands in the way of trusting the stores: damage that was found, what was mended lately, what is lost. */
export function archiveFindings({ standings, losses }: ArchiveState, now: number): Finding[] {
  return [
    ...standings.flatMap(({ stream, findings }) =>
      findings.map((message) => ({ component: `archive ${stream}`, message })),
    ),
    ...standings
      .filter(({ mendedAt }) => mendedAt !== null && now - Date.parse(mendedAt) < justNowMs)
      .map(({ stream, mendedAt, mended }) => ({
        component: `archive ${stream}`,
        message: `Mended at ${mendedAt}: ${mended.join(' ').slice(0, 1000)}`,
      })),
    ...losses.map(({ stream, first, last, reason, ids }) => ({
      component: `archive ${stream}`,
      message: `Events ${first} to ${last} are lost: ${reason}${ids.length > 0 ? ` (${ids.slice(0, 10).join(', ')})` : ''}.`,
    })),
  ];
}
