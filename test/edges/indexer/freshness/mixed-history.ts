import { bech32 } from '@scure/base';
import type { Fact } from '../../../../src/events/catalogue.ts';
import { hashes, randomHistory, seeded } from '../../../support/histories/random-history.ts';
import { round } from '../rest/sample.ts';

/** An address that the parameters take, for a name of the random history. */
export const addressOf = (prefix: string, name: string): string =>
  bech32.encode(prefix, bech32.toWords(Uint8Array.from(Buffer.from(name.padEnd(20, '.')))));

/** A history of a whole network whose facts of all streams are mixed, with rounds in between. */
export function historyOf(seed: number, actions = 24): Fact[] {
  const random = seeded(seed);
  const named = JSON.stringify(randomHistory(seed, { actions }))
    .replaceAll(/"(op-.)"/g, (_, name: string) => JSON.stringify(addressOf('lumeravaloper', name)))
    .replaceAll(/"(acc\d|stranger|creator\d)"/g, (_, name: string) => JSON.stringify(addressOf('lumera', name)));
  const lives = [...Map.groupBy(JSON.parse(named) as Fact[], entityNamed).values()];
  const facts: Fact[] = [];
  while (lives.some((life) => life.length > 0)) {
    // The first entities are further on than the last ones, as on a chain.
    const open = lives.filter((life) => life.length > 0).slice(0, 5);
    const next = open[random.below(open.length)]?.shift();
    if (next) facts.push(next);
    if (random.chance(0.1))
      facts.push(round('supernodes', 91 + facts.length, '2026-01-02T00:00:00Z', { minimumVersion: '2.0.0' }));
  }
  return facts;
}

const entityNamed = ({ type, data }: Fact): string => {
  const { action, node, validator } = data as { action?: string; node?: string; validator?: string };
  return JSON.stringify([type.slice(0, 5), action ?? node ?? validator]);
};

export const operator = addressOf('lumeravaloper', 'op-a');
const account = addressOf('lumera', 'acc1');
const creator = addressOf('lumera', 'creator1');
const hash = Buffer.from(hashes[0] ?? '', 'base64').toString('hex');

/** Every read of `/v1` that shows the past, with every filter of its lists. */
export const paths = [
  '/v1/actions',
  '/v1/actions?limit=3&include_transactions=true',
  '/v1/actions?type=sense',
  '/v1/actions?state=registered&limit=2',
  '/v1/actions?state=finalized&type=cascade',
  `/v1/actions?creator=${creator}`,
  `/v1/actions?creator=${creator}&state=approved`,
  '/v1/actions?fromHeight=9000&toHeight=41000',
  `/v1/actions?dataHash=${hash}&limit=3`,
  `/v1/actions?dataHash=${hash}&type=cascade&supernode=${operator}`,
  `/v1/actions?supernode=${account}`,
  `/v1/actions?supernode=${operator}`,
  `/v1/actions?supernode=${operator}&state=approved&limit=1`,
  `/v1/actions?supernode=${operator}&creator=${creator}`,
  `/v1/actions?supernode=${operator}&fromHeight=5000`,
  '/v1/actions/stats',
  '/v1/actions/stats?type=cascade&from=2026-01-01T03:00:00Z&to=2026-01-03T12:00:00Z',
  '/v1/actions/stats?from=2026-01-02T00:00:00Z',
  '/v1/supernodes/metrics?limit=2',
  '/v1/supernodes/metrics?status=available&currentState=SUPERNODE_STATE_ACTIVE',
  '/v1/supernodes/stats',
  '/v1/supernodes/action-stats',
  '/v1/supernodes/unavailable',
  `/v1/supernodes/${operator}/metrics`,
  `/v1/supernodes/${operator}/paymentInfo`,
  '/v1/version/matrix',
];

/** Lists of each of several addresses: what changes one of them leaves most others as they are. */
const listsOfEach = [
  ...['creator0', 'creator2', 'acc0'].map((name) => `creator=${addressOf('lumera', name)}`),
  ...['acc0', 'acc4', 'stranger'].map((name) => `supernode=${addressOf('lumera', name)}&limit=2`),
  ...['op-A', 'op-b'].map((name) => `supernode=${addressOf('lumeravaloper', name)}&type=sense`),
].map((filter) => `/v1/actions?${filter}`);

/** The same, with the other routes that read from the read models alone, and some of a history's actions. */
export const pathsOf = (facts: readonly Fact[]): string[] => [
  ...paths,
  ...listsOfEach,
  ...actionsIn(facts).flatMap((id) => [`/v1/actions/${id}`, `/v1/actions/${id}/versions`]),
  '/v1/actions?toHeight=20000&state=finalized',
  '/v1/actions/stats?type=sense&to=2026-01-02T12:00:00Z',
  '/v1/supernodes/availability?limit=3',
  `/v1/supernodes/${operator}/availability`,
  '/v1/incidents',
  `/v1/supernodes/${operator}/incidents`,
  `/v1/supernodes/${operator}/versions`,
  ...['op-A', 'op-c'].map((name) => `/v1/supernodes/${addressOf('lumeravaloper', name)}/paymentInfo`),
];

/** Every sixth action of a history. */
const actionsIn = (facts: readonly Fact[]): string[] =>
  [...new Set(facts.flatMap(({ data }) => ('action' in data ? [data.action] : [])))].filter((_, at) => at % 6 === 0);
