import { provesItself, type RawEvent } from '../../../engine/archive/chain.ts';
import type { Kind, StreamName } from '../../../events/streams.ts';
import { toAppError } from '../../../kit/errors.ts';
import { within } from '../../../kit/wait.ts';
import { VersionsOfRecord } from '../../../projections/versions.ts';
import { runQuery } from '../../bus.ts';
import type { RestDependencies } from '../rest/dependencies.ts';

/** A record whose events may be read by anybody. */
export type PublicRecord = Readonly<{ of: 'actions' | 'supernodes'; stream: StreamName; kind: Kind; id: string }>;

type Sources = Pick<RestDependencies, 'events' | 'past' | 'reader'>;
type Page = Readonly<{ after: number; limit: number }>;

const notInTime = 'The log does not answer';
const logAnswersWithinMs = 3000;
/** More events than any record has. */
const mostVersions = 1_000_000;

/**
 * The events of a record after a sequence, in order, at most so many.
 *
 * They come from the log. Where that does not answer, has dropped events or holds damaged ones, the read model knows
 * the sequences of the record's events, and the archive has their bytes.
 */
export async function eventsOfRecord(sources: Sources, record: PublicRecord, page: Page): Promise<RawEvent[]> {
  const reading = sources.events.logged(record.kind, record.id, page);
  const logged = await within(logAnswersWithinMs, reading, notInTime).catch((caught: unknown) => {
    if (caught instanceof Error && (caught.message === notInTime || toAppError(caught).code === 'UNAVAILABLE'))
      return undefined;
    throw caught;
  });
  const intact = (logged ?? []).filter(provesItself);
  const isWhole = logged?.length === intact.length && !(await sources.past.hasForgotten(record.stream));
  if (isWhole) return intact;
  const known = new Set(intact.map(({ sequence }) => sequence));
  const missing = (await sequencesOf(sources, record, page)).filter((sequence) => !known.has(sequence));
  const archived = await sources.events.archived(record.stream, missing);
  return [...intact, ...archived].toSorted((a, b) => a.sequence - b.sequence).slice(0, page.limit);
}

/** Each event of a record begins a version of it, or ends the last one. */
async function sequencesOf(
  { reader }: Sources,
  { of, id }: PublicRecord,
  { after, limit }: Page,
): Promise<readonly number[]> {
  const query = new VersionsOfRecord({ of, id, limit: mostVersions });
  const { versions } = await reader.read((reading) => runQuery(reading, query));
  const all = new Set(versions.flatMap(({ from, until }) => (until === null ? [from] : [from, until])));
  return [...all]
    .filter((sequence) => sequence > after)
    .toSorted((a, b) => a - b)
    .slice(0, limit);
}
