const leastShare = 0.1;
const leastBytes = 5 * 2 ** 30;

/** Bytes of a disk that no store fills: the last tenth of its `total`, or the last 5 GiB where that is less. */
export function bytesLeftFree(total: number): number {
  return Math.min(total * leastShare, leastBytes);
}
