import type { Recorded } from '../../../src/commands/ports.ts';
import { catalogue, entityOf, type Fact } from '../../../src/events/catalogue.ts';

type Data<T extends Fact['type']> = Fact<T>['data'];
type KnownAction = Data<'ActionRegistered'>['known'];

/** A transaction whose hash tells its height. */
export const transactionAt = (height: number) => ({ hash: `TX${height}`, height, time: timeOf(height) });

/** The time of a block: one each minute. */
export const timeOf = (height: number) =>
  new Date(Date.UTC(2026, 0, 1) + height * 60_000).toISOString().replace('.000Z', 'Z');

const known: KnownAction = {
  chainState: 'pending',
  reached: 'registered',
  creator: 'lumera1creator',
  dataHash: 'hash',
  transactions: [],
};

/** Facts of one action, complete but for what is given. */
export const actionFacts = (action: string, always: Partial<KnownAction> = {}) => {
  const all = { ...known, ...always };
  return {
    registered: (data: Partial<Data<'ActionRegistered'>> = {}): Fact<'ActionRegistered'> => ({
      type: 'ActionRegistered',
      data: { action, kind: 'cascade', height: 5, fileSizeKbs: 3, metadata: 'bWV0YQ==', known: all, ...data },
    }),
    finalized: (data: Partial<Data<'ActionFinalized'>> = {}): Fact<'ActionFinalized'> => ({
      type: 'ActionFinalized',
      data: {
        action,
        accounts: [],
        payments: [],
        known: { ...all, chainState: 'done', reached: 'finalized' },
        ...data,
      },
    }),
    approved: (data: Partial<Data<'ActionApproved'>> = {}): Fact<'ActionApproved'> => ({
      type: 'ActionApproved',
      data: { action, known: { ...all, chainState: 'approved', reached: 'approved' }, ...data },
    }),
    expired: (seenAtHeight = 50): Fact<'ActionExpired'> => ({
      type: 'ActionExpired',
      data: { action, seenAtHeight, known: { ...all, chainState: 'expired' } },
    }),
    observed: (chainState: string, seenAtHeight = 50): Fact<'ActionStateObserved'> => ({
      type: 'ActionStateObserved',
      data: { action, seenAtHeight, known: { ...all, chainState } },
    }),
    found: (step: string, data: Partial<Data<'ActionTransactionFound'>> = {}): Fact<'ActionTransactionFound'> => ({
      type: 'ActionTransactionFound',
      data: {
        action,
        step,
        payments: [],
        accounts: [],
        known: { ...all, chainState: 'done', reached: 'finalized' },
        ...data,
      },
    }),
  };
};

/** Facts of one SuperNode; the last of its accounts is the one in use. */
export const nodeFacts = (node: string) => {
  const record = (data: Partial<Data<'SuperNodeListed'>['record']>) => ({
    state: 'active',
    stateReason: '',
    address: '192.0.2.1:4444',
    account: data.accounts?.at(-1)?.account ?? 'lumera1account',
    accounts: [],
    note: '',
    p2pPort: '4445',
    ...data,
  });
  return {
    listed: (data: Parameters<typeof record>[0] = {}): Fact<'SuperNodeListed'> => ({
      type: 'SuperNodeListed',
      data: { node, seenAtHeight: 9, record: record(data) },
    }),
    changed: (data: Parameters<typeof record>[0] = {}): Fact<'SuperNodeChanged'> => ({
      type: 'SuperNodeChanged',
      data: { node, seenAtHeight: 10, record: record(data) },
    }),
    removed: (): Fact<'SuperNodeRemoved'> => ({
      type: 'SuperNodeRemoved',
      data: { node, seenAtHeight: 11, record: record({}) },
    }),
  };
};

/** Facts of one validator. */
export const validatorFacts = (validator: string) => {
  const data = (record: Partial<Data<'ValidatorListed'>['record']>) => ({
    validator,
    seenAtHeight: 9,
    record: { moniker: `moniker of ${validator}`, status: 'bonded', jailed: false, ...record },
  });
  return {
    listed: (record: Parameters<typeof data>[0] = {}): Fact<'ValidatorListed'> => ({
      type: 'ValidatorListed',
      data: data(record),
    }),
    changed: (record: Parameters<typeof data>[0] = {}): Fact<'ValidatorChanged'> => ({
      type: 'ValidatorChanged',
      data: data(record),
    }),
    removed: (): Fact<'ValidatorRemoved'> => ({ type: 'ValidatorRemoved', data: data({}) }),
  };
};

/** Facts of a node's probes. */
export const probeFacts = (node: string, at = '2026-01-02T00:00:00Z') => {
  const ports = [4444, 4445, 8002].map((port) => ({ port, outcome: 'open' }));
  return {
    succeeded: (
      figures: Partial<NonNullable<Data<'ProbeSucceeded'>['known']['figures']>> = {},
    ): Fact<'ProbeSucceeded'> => ({
      type: 'ProbeSucceeded',
      data: {
        node,
        at,
        ports,
        tookMs: 7,
        known: {
          consecutiveFailures: 0,
          lastSeenAt: at,
          figures: { version: 'v2.5.0', ...figures },
          services: ['cascade'],
        },
      },
    }),
    failed: (failures: number, data: Partial<Data<'ProbeFailed'>['known']> = {}): Fact<'ProbeFailed'> => ({
      type: 'ProbeFailed',
      data: {
        node,
        at,
        ports,
        tookMs: 7,
        statusAnswer: 'timeout',
        known: { consecutiveFailures: failures, services: [], ...data },
      },
    }),
  };
};

/** The sequences of events that do not name the event of their entity before them. */
export function unlinked(events: readonly Recorded[]): number[] {
  const lastIds = new Map<string, string>();
  return events.flatMap(({ fact, id, sequence, previous }) => {
    const key = `${catalogue[fact.type].kind} ${entityOf(fact)}`;
    const before = lastIds.get(key);
    lastIds.set(key, id);
    return previous === before ? [] : [sequence];
  });
}
