/** The promise of an acknowledgement: on disk; on disk within a second; on disk some time; unknown. */
export type Durability = 'strict' | 'bounded' | 'relaxed' | 'unknown';

const answerWithinMs = 3000;
const nanosPerSecond = 1e9;

/** From least to most; what cannot be read counts as nothing. */
export const grades = ['unknown', 'relaxed', 'bounded', 'strict'] as const satisfies readonly Durability[];

/**
 * Reads the durability in force from a server's monitoring address, or from those of several servers, separated by
 * commas: the lowest one reported counts.
 *
 * `unknown` when there is no address, no answer, or no durability in an answer: never a guess.
 *
 * @example await readDurability('http://127.0.0.1:8222') // 'strict'
 */
export async function readDurability(monitorUrls: string | undefined): Promise<Durability> {
  const match = await Promise.all((monitorUrls?.split(',') ?? []).map(readOne));
  return grades.find((grade) => grade !== 'unknown' && match.includes(grade)) ?? 'unknown';
}

async function readOne(monitorUrl: string): Promise<Durability> {
  try {
    const response = await fetch(new URL('jsz?config=true', `${monitorUrl}/`), {
      signal: AbortSignal.timeout(answerWithinMs),
      redirect: 'error',
    });
    return response.ok ? gradeOf(await response.json()) : 'unknown';
  } catch {
    return 'unknown';
  }
}

/** The grade that a `/jsz` answer shows. */
export function gradeOf(jsz: unknown): Durability {
  const config = field(jsz, 'config');
  if (field(config, 'sync_always') === true) return 'strict';
  const interval = field(config, 'sync_interval');
  if (typeof interval !== 'number') return 'unknown';
  return interval <= nanosPerSecond ? 'bounded' : 'relaxed';
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
