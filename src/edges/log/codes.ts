import { JetStreamApiError } from '@nats-io/jetstream';

/** Error codes of the broker's API by what they say; its descriptions are free to change, the numbers are not. */
export const codes = {
  clusterIncomplete: 10_004,
  noSuitablePeers: 10_005,
  notAvailable: 10_008,
  noLeader: 10_009,
  insufficientResources: 10_023,
  memoryExceeded: 10_028,
  notEnabledForAccount: 10_039,
  storageExceeded: 10_047,
  nameTaken: 10_058,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  replicasNeedCluster: 10_074,
  notEnabled: 10_076,
  /** A full stream, a conflict or a disk that does not write: only the description tells. */
  storeFailed: 10_077,
  streamOffline: 10_118,
  sequenceInFlight: 10_164,
  tooManyRequests: 10_167,
  batchIncomplete: 10_176,
  batchRepeatsId: 10_201,
  tooManyBatches: 10_210,
} as const;

/** Whether the broker refused with one of some codes. */
export function refusedWith(caught: unknown, ...meanings: readonly (keyof typeof codes)[]): boolean {
  return caught instanceof JetStreamApiError && meanings.some((meaning) => codes[meaning] === caught.code);
}
