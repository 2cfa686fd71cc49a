import type { ProvenLogs } from '../../../../src/engine/archive/proof/serving.ts';
import type { EventSource } from '../../../../src/edges/indexer/proof/event-tail.ts';
import type { PastLog } from '../../../../src/edges/indexer/rest/as-of.ts';
import { AppError } from '../../../../src/kit/errors.ts';
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

/** The event from whose time on the slider reaches, years before those that the read models are of. */
const bytes = Buffer.from(
  JSON.stringify({ id: '1', type: 'annals.ActionTold.v1', subject: '1', time: '2020-01-01T00:00:00Z', data: {} }),
);
const first = { sequence: 1, subject: 'evt.action.test.1', bytes };

/**
 * How the log is that pages read: away, as while the broker starts; without an event, as at a first start; or with one
 * that no checkpoint covers yet.
 */
let log: 'whole' | 'away' | 'empty' | 'unsigned' = 'whole';

export function setLog(state: typeof log): void {
  log = state;
}

const ifSigned = async <T>(value: T): Promise<T | undefined> =>
  log === 'empty' || log === 'unsigned' ? undefined : value;

/** Its signed tree, with a proof that proves nothing. */
export const logs: ProvenLogs = {
  list: async () => [],
  checkpoint: () =>
    ifSigned({
      stream: 'ACTIONS',
      origin: 'test',
      vkey: 'test+1+AQ==',
      size: 1,
      root: Buffer.alloc(32),
      epoch: 1,
      note: '',
      signedAt: '2020-01-01T00:00:00Z',
      incarnation: '1',
    }),
  tile: async () => undefined,
  event: () => ifSigned({ bytes, entry: Buffer.alloc(32) }),
  proof: () => ifSigned('nothing'),
};

export const eventSource: EventSource = {
  after: async () => (log === 'empty' ? [] : [first]),
  watch: () => () => undefined,
};

/** What is known of the log's past, as the log is. */
export function pastIn(past: PastLog): PastLog {
  const whileThere =
    <T extends unknown[], R>(read: (...input: T) => Promise<R>) =>
    async (...input: T): Promise<R> => {
      if (log === 'away') throw new AppError('UNAVAILABLE', 'The log does not answer.');
      return await read(...input);
    };
  return {
    ...past,
    head: whileThere(async (stream) => ({ ...(await past.head(stream)), ...(log === 'empty' && { lastSequence: 0 }) })),
    positionWhen: whileThere(past.positionWhen),
    storedAt: whileThere(past.storedAt),
  };
}
