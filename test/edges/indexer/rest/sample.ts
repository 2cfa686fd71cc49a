import { toBinary, create } from '@bufbuild/protobuf';
import { base64, bech32 } from '@scure/base';
import { CascadeMetadataSchema } from '../../../../src/edges/gen/chain/action/v1/metadata_pb.ts';
import type { Fact } from '../../../../src/events/catalogue.ts';
import {
  actionFacts,
  nodeFacts,
  probeFacts,
  timeOf,
  transactionAt,
  validatorFacts,
} from '../../../support/histories/facts.ts';

/** A Bech32 address whose bytes follow from a number. */
export function address(prefix: string, n: number): string {
  return bech32.encode(prefix, bech32.toWords(new Uint8Array(20).fill(n)));
}

export const creators = [address('lumera', 1), address('lumera', 2)] as const;
/** Operators in the order of the lists. */
export const operators = [11, 12, 13, 14].map((n) => address('lumeravaloper', n)).toSorted();
export const [alpha = '', beta = '', gamma = '', delta = ''] = operators;
export const oldAccount = address('lumera', 21);
export const newAccount = address('lumera', 22);
export const betaAccount = address('lumera', 23);

const metadata = base64.encode(
  toBinary(
    CascadeMetadataSchema,
    create(CascadeMetadataSchema, { dataHash: 'hash', fileName: 'a file.txt', public: true }),
  ),
);

const figures = {
  peerCount: 7,
  cpuCores: 8,
  cpuUsagePercent: 10,
  memoryTotalGb: 32,
  memoryUsedGb: 4.5,
  storageTotalGb: 2048,
  storageUsedGb: 100,
  uptimeSeconds: 60,
};

/** How the rounds of a source stand. */
export const round = (
  source: string,
  height: number,
  at: string,
  data: { minimumVersion?: string } = {},
): Fact<'SyncRoundCompleted'> => ({
  type: 'SyncRoundCompleted',
  data: {
    source,
    startedAt: at,
    at,
    height,
    blockTime: at,
    requests: 3,
    facts: 0,
    skipped: [],
    known: {
      chainId: 'chain-1',
      cursor: height,
      unread: [],
      completedAt: at,
      completedHeight: height,
      ...data,
    },
  },
});

const pay = (account: string, amount: string) => ({ account, denom: 'ulume', amount });

/** Twelve actions and more, four nodes: enough for every filter to leave something out. */
export const sample: readonly Fact[] = [
  nodeFacts(alpha).listed({
    address: '203.0.113.7:4444',
    accounts: [
      { account: oldAccount, height: 1 },
      { account: newAccount, height: 27 },
    ],
    registeredHeight: 1,
  }),
  nodeFacts(beta).listed({
    address: 'node.example.org:4444',
    accounts: [{ account: betaAccount, height: 1 }],
    registeredHeight: 2,
  }),
  nodeFacts(gamma).listed({
    state: 'postponed',
    address: '[2001:db8::1]:4444',
    accounts: [],
    account: address('lumera', 24),
    registeredHeight: 3,
  }),
  nodeFacts(delta).listed({
    state: 'storage_full',
    address: 'not an address',
    accounts: [],
    account: address('lumera', 25),
    registeredHeight: 4,
  }),
  validatorFacts(alpha).listed(),
  validatorFacts(beta).listed({ status: 'unbonding', jailed: true }),
  validatorFacts(gamma).listed({ status: 'unbonded' }),
  probeFacts(alpha).succeeded({ version: 'v2.6.2', ...figures }),
  probeFacts(beta).succeeded({ version: 'v2.5.0', ...figures, cpuUsagePercent: 20, storageTotalGb: 1024 }),
  probeFacts(gamma).failed(3, {
    lastSeenAt: timeOf(2),
    figures: { version: 'v1.9.0', ...figures },
    services: ['sense'],
  }),
  round('actions', 90, timeOf(90)),
  round('supernodes', 91, timeOf(91), { minimumVersion: '2.0.0' }),
  round('validators', 92, timeOf(92)),
  ...actionHistory(),
];

/**
 * Ids 1 to 12 at heights 11 to 22: Cascade but for 3, 6, 9 and 12; 1 approved, 2 to 6 finalized, 7 expired, 8 of
 * unknown time.
 */
function actionHistory(): Fact[] {
  return Array.from({ length: 12 }, (_, at) => at + 1).flatMap((n): Fact[] => {
    const id = String(n);
    const facts = actionFacts(id, { creator: n % 2 === 1 ? creators[0] : creators[1], expiresAt: timeOf(500) });
    const transaction = transactionAt(10 + n);
    const registered = facts.registered({
      kind: n % 3 === 0 ? 'sense' : 'cascade',
      height: 10 + n,
      price: { denom: 'ulume', amount: '10090' },
      fileSizeKbs: 12,
      metadata: n === 1 ? metadata : '',
      ...(n === 8 ? {} : { transaction }),
    });
    if (n === 7) return [registered, facts.expired()];
    if (n > 6) return [registered];
    const account = n === 1 ? oldAccount : n === 2 ? newAccount : betaAccount;
    const finalized = facts.finalized({
      accounts: [account],
      payments: [pay(account, '9889')],
      transaction: transactionAt(24 + n * 2),
    });
    return n === 1
      ? [registered, finalized, facts.approved({ transaction: transactionAt(40) })]
      : [registered, finalized];
  });
}
