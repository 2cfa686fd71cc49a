/** Schema of a network's own bookkeeping: its migrations and its generations. */
export function metaSchema(network: string): string {
  return `annals_${network}`;
}

/** Schema that holds the tables of one generation of a projection. */
export function generationSchema(network: string, projection: string, generation: number): string {
  return `annals_${network}_${projection}_g${generation}`;
}

/** The one channel on which a network's live generations say that they moved. */
export function channelOf(network: string): string {
  return `annals_${network}`;
}
