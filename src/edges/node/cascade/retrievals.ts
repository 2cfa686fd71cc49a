/** How the pieces of one file were gathered, as the status of a node shows it. */
export type Retrieval = Readonly<{
  /** Unix seconds. */
  timeUnix: bigint;
  keys: number;
  required: number;
  foundLocal: number;
  foundNetwork: number;
  durationMs: bigint;
}>;

/** The latest retrievals of a node. */
export type Retrievals = Readonly<{ add: (retrieval: Retrieval) => void; latest: () => Retrieval[] }>;

/** As many as real nodes show. */
const remembered = 48;

/** Remembers retrievals, newest first; none at first. */
export function createRetrievals(): Retrievals {
  const latest: Retrieval[] = [];
  return {
    add: (retrieval) => {
      latest.unshift(retrieval);
      latest.length = Math.min(latest.length, remembered);
    },
    latest: () => [...latest],
  };
}
