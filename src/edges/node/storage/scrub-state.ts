import { readFile } from 'node:fs/promises';
import { parseBounded } from '../../../kit/bounded-json.ts';

/** How far the reading of all pieces is, or how it ended. */
export type ScrubState = Readonly<{
  /** RFC 3339, UTC. */
  startedAt: string;
  /** Undefined while it is under way. */
  finishedAt?: string | undefined;
  /** The file that was read last; undefined before the first. */
  cursor?: string | undefined;
  /** Pieces read, those of them that were damaged or gone, and those that were fetched again. */
  pieces: number;
  damaged: number;
  mended: number;
}>;

/** The pass that is under way, and the last one that ended; undefined before the first. */
export type ScrubStates = Readonly<{ current: ScrubState | undefined; last: ScrubState | undefined }>;

/** The states of an earlier run; none where they cannot be read. */
export async function readScrubStates(file: string): Promise<ScrubStates> {
  const text = await readFile(file, 'utf8').catch(() => '{}');
  try {
    const read = parseBounded(text, { depth: 2, values: 50 }) as Readonly<Record<string, unknown>>;
    return { current: stateOf(read['current']), last: stateOf(read['last']) };
  } catch {
    // Scrubbing starts anew.
    return { current: undefined, last: undefined };
  }
}

function stateOf(value: unknown): ScrubState | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { startedAt, finishedAt, cursor, pieces, damaged, mended }: Partial<Record<keyof ScrubState, unknown>> = value;
  if (typeof startedAt !== 'string' || Number.isNaN(Date.parse(startedAt))) return undefined;
  if (typeof pieces !== 'number' || typeof damaged !== 'number' || typeof mended !== 'number') return undefined;
  return {
    startedAt,
    finishedAt: typeof finishedAt === 'string' ? finishedAt : undefined,
    cursor: typeof cursor === 'string' ? cursor : undefined,
    pieces,
    damaged,
    mended,
  };
}
