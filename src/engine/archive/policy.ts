import type { StreamPolicy } from '../../events/streams.ts';
import { type ScrubReport, streamStates } from './report.ts';

/** Something that was observed, told from other findings by its text, and when: milliseconds since 1970. */
export type Observation = Readonly<{ finding: string; at: number }>;

/** How long a finding must stand before it is believed, and how long a stream is left alone after it was restored. */
export type Brakes = Readonly<{ confirmAfterMs: number; restoreEachMs: number }>;

/** What guards every stream, but for tests. */
export const brakes: Brakes = { confirmAfterMs: 10_000, restoreEachMs: 3_600_000 };

/** What is to be done about a damaged stream. */
export type Decision =
  | Readonly<{ kind: 'restore' }>
  | Readonly<{ kind: 'observe again'; afterMs: number; since: Observation }>
  | Readonly<{ kind: 'ask'; why: string }>;

/**
 * What a decision rests on: the policy, the earlier observation if there was one, and how long ago the stream was
 * restored last.
 */
export type Grounds = Readonly<{
  policy: Pick<StreamPolicy, 'restore'>;
  before?: Observation | undefined;
  restoredMsAgo?: number | null | undefined;
  brakes: Brakes;
  now: number;
}>;

/**
 * Whether a stream is restored without an operator, which deletes what it holds.
 *
 * Only on the same finding from two observations some time apart, and seldom; where there is nothing to delete, at
 * once.
 */
export function decide(report: ScrubReport, { policy, before, restoredMsAgo, brakes: limits, now }: Grounds): Decision {
  const { repair } = streamStates[report.state];
  if (repair === 'an operator')
    return { kind: 'ask', why: `Both may be wanted: look with annals scrub, then join them with annals repair.` };
  if (policy.restore === 'operator')
    return { kind: 'ask', why: `${report.stream} is restored only by an operator: annals repair.` };
  if (repair === 'nothing more') return { kind: 'restore' };
  const finding = findingOf(report);
  const since = before?.finding === finding ? before : { finding, at: now };
  const afterMs = since.at + limits.confirmAfterMs - now;
  if (afterMs > 0) return { kind: 'observe again', afterMs, since };
  if (restoredMsAgo != null && restoredMsAgo < limits.restoreEachMs)
    return { kind: 'ask', why: `${report.stream} was restored a short time ago, and is again only by annals repair.` };
  return { kind: 'restore' };
}

/**
 * What a report says against a stream, as a text that is the same for the same damage however far the log has grown.
 */
export function findingOf({ state, inStream, inBoth, foreign }: ScrubReport): string {
  return JSON.stringify([state, inStream, inBoth, foreign.map(({ sequence, id }) => [sequence, id])]);
}
