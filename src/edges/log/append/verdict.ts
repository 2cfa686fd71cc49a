import type { Reply } from './pipeline.ts';

/** A reply that does not say "stored". */
export type Refusal = Exclude<Reply, { kind: 'stored' }>;

/** What a refusal asks for: to try again, to look who was first, to stop because there is no room, to stop. */
export type Verdict = 'again' | 'conflict' | 'full' | 'refused';

/** Wrong last sequence; a batch with an id that is known already. */
const conflictCodes = new Set([10_071, 10_201]);
/** In flight on a replica, too many requests or batches, a batch cut off, no leader, JetStream not ready. */
const passingCodes = new Set([10_164, 10_167, 10_210, 10_176, 10_008, 10_009, 10_004, 10_039, 10_076, 10_118]);
/** Memory, disk or account limits of the server. */
const fullCodes = new Set([10_023, 10_028, 10_047]);
const storeFailed = 10_077;

/** Error 10077 may mean a full stream, a conflict or a disk that does not write: only its description tells. */
export function judge(refusal: Refusal): Verdict {
  if (refusal.kind === 'lost' || passingCodes.has(refusal.code)) return 'again';
  if (conflictCodes.has(refusal.code)) return 'conflict';
  if (fullCodes.has(refusal.code)) return 'full';
  if (refusal.code !== storeFailed) return 'refused';
  if (/maximum (bytes|messages) exceeded|no space/i.test(refusal.description)) return 'full';
  return /wrong last|duplicate|per subject exceeded/i.test(refusal.description) ? 'conflict' : 'refused';
}

/** A refusal in words. */
export function saying(refusal: Refusal): string {
  return refusal.kind === 'lost' ? refusal.why : `${refusal.description} (error ${refusal.code})`;
}
