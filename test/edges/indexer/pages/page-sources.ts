import type { PageSources } from '../../../../src/edges/indexer/pages/pages.ts';

const outside = { chain: null, nats: null, natsWebSocket: null, chainUrl: null, gatewayUrl: null, hasEvm: false };

/** What the pages of an indexer show beside its API, where neither a local chain nor a gateway is there. */
export const pageSources: PageSources = {
  about: async () => ({ network: 'test', ...outside }),
  models: async () => ({ projections: [], archive: [], losses: [] }),
  activity: undefined,
  local: undefined,
  contracts: [],
};
