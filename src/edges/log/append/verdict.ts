import { codes } from '../codes.ts';
import type { Reply } from './pipeline.ts';

/** A reply that does not say "stored". */
export type Refusal = Exclude<Reply, { kind: 'stored' }>;

/** What a refusal asks for: to try again, to look who was first, to stop because there is no room, to stop. */
export type Verdict = 'again' | 'conflict' | 'full' | 'refused';

const conflictCodes: ReadonlySet<number> = new Set([codes.wrongLastSequence, codes.batchRepeatsId]);
const passingCodes: ReadonlySet<number> = new Set([
  codes.sequenceInFlight,
  codes.tooManyRequests,
  codes.tooManyBatches,
  codes.batchIncomplete,
  codes.notAvailable,
  codes.noLeader,
  codes.clusterIncomplete,
  codes.notEnabledForAccount,
  codes.notEnabled,
  codes.streamOffline,
]);
const fullCodes: ReadonlySet<number> = new Set([
  codes.insufficientResources,
  codes.memoryExceeded,
  codes.storageExceeded,
]);

/** What a refusal asks for. */
export function judge(refusal: Refusal): Verdict {
  if (refusal.kind === 'lost' || passingCodes.has(refusal.code)) return 'again';
  if (conflictCodes.has(refusal.code)) return 'conflict';
  if (fullCodes.has(refusal.code)) return 'full';
  if (refusal.code !== codes.storeFailed) return 'refused';
  if (/maximum (bytes|messages) exceeded|no space/i.test(refusal.description)) return 'full';
  return /wrong last|duplicate|per subject exceeded/i.test(refusal.description) ? 'conflict' : 'refused';
}

/** A refusal in words. */
export function saying(refusal: Refusal): string {
  return refusal.kind === 'lost' ? refusal.why : `${refusal.description} (error ${refusal.code})`;
}
