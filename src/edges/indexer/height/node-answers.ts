import { Type } from 'typebox';
import type { Static } from 'typebox';
import { AppError } from '../../../kit/errors.ts';
import { ActionsByNodeAtHeight } from '../../../projections/actions/queries.ts';
import type { NodeActions } from '../../../projections/actions/node-counts.ts';
import type { PaidTotal } from '../../../projections/actions/totals/payment-counters.ts';
import { displayHost } from '../../../projections/fleet/address.ts';
import type { NodeAtHeight } from '../../../projections/fleet/nodes-at-height.ts';
import { NodesToRank, PaymentsOfNode } from '../../../projections/fleet/queries.ts';
import { component, nullable } from '../../http/schema.ts';
import { operatorAddress } from '../rest/addresses.ts';
import { ranksAt } from '../rest/rank.ts';
import type { ReadSnapshot } from '../rest/reads.ts';
import { requireClear, requireRead } from './at-height.ts';
import { createNodesAtHeight, untold } from './nodes-at-height.ts';

/** What the chain alone says of a SuperNode. */
export const superNodeRecord = component(
  'SuperNodeRecord',
  Type.Object({
    id: operatorAddress,
    ip: Type.String({ description: 'As the chain had it, without its port.' }),
    rank: nullable(
      Type.Integer({ description: 'Place, from 1, in the chain’s top list for this height; null where it has none.' }),
    ),
    current_state: Type.String({ description: 'The SuperNode’s state on the chain.' }),
    registered_height: nullable(Type.Integer({ description: 'Height of its registration; null where unknown.' })),
  }),
);

/** A page of them. */
export const superNodeRecords = component(
  'SuperNodeRecords',
  Type.Object({
    height: Type.Integer({ description: 'Height of the chain that the answer is of.' }),
    supernodes: Type.Array(superNodeRecord.ref),
    total: Type.Integer({ description: 'SuperNodes that match, over all pages; exact.' }),
    cursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  }),
);

type Page = Readonly<{ height: number; state: string | undefined; after: string | undefined; limit: number }>;
type Shown = Static<typeof superNodeRecord.schema>;

/** The SuperNodes of a height, with what they were paid and finalized by then. */
export type NodeAnswers = Readonly<{
  list: (
    snapshot: ReadSnapshot,
    page: Page,
  ) => Promise<Readonly<{ rows: readonly Shown[]; total: number; hasMore: boolean }>>;
  one: (snapshot: ReadSnapshot, at: Readonly<{ id: string; height: number }>) => Promise<Shown>;
  payments: (snapshot: ReadSnapshot, at: Readonly<{ id: string; height: number }>) => Promise<readonly PaidTotal[]>;
  actions: (snapshot: ReadSnapshot, height: number) => Promise<readonly NodeActions[]>;
}>;

/** Makes the answers of routes of SuperNodes at a height. */
export function createNodeAnswers(sources: Parameters<typeof createNodesAtHeight>[0]): NodeAnswers {
  const nodesAt = createNodesAtHeight(sources);
  const shownAt = async (snapshot: ReadSnapshot, height: number): Promise<Shown[]> => {
    const nodes = await nodesAt(snapshot, height);
    const rankOf = ranksAt(height, nodes.map(ranked));
    return nodes.map(({ operator, address, state, registeredHeight }) => ({
      id: operator,
      ip: displayHost(stated(address, `the address of ${operator}`)),
      rank: rankOf.get(operator) ?? null,
      current_state: stated(state, `the state of ${operator}`),
      registered_height: registeredHeight,
    }));
  };
  return {
    list: async (snapshot, { height, after = '', limit, state }) => {
      const all = (await shownAt(snapshot, height)).filter(({ current_state: own }) => (state ?? own) === own);
      const rows = all.filter(({ id }) => Buffer.compare(Buffer.from(id), Buffer.from(after)) > 0);
      return { rows: rows.slice(0, limit), total: all.length, hasMore: rows.length > limit };
    },
    one: async (snapshot, { id, height }) => {
      const node = (await shownAt(snapshot, height)).find((one) => one.id === id);
      return node ?? notListed();
    },
    payments: async (snapshot, { id, height }) => {
      requireRead(snapshot, ['actions'], height);
      const nodes = await nodesAt(snapshot, height);
      if (!nodes.some(({ operator }) => operator === id)) notListed();
      await requireListedNow(snapshot, [id]);
      return await snapshot.ask(new PaymentsOfNode({ operator: id, height }));
    },
    actions: async (snapshot, height) => {
      requireRead(snapshot, ['actions'], height);
      const operators = (await nodesAt(snapshot, height)).map(({ operator }) => operator);
      await requireListedNow(snapshot, operators);
      const { nodes, unclear } = await snapshot.ask(new ActionsByNodeAtHeight({ operators, height }));
      requireClear(unclear);
      return nodes;
    },
  };
}

const ranked = ({ operator, state, registeredHeight }: NodeAtHeight) => ({
  operator,
  state: stated(state, `the state of ${operator}`),
  registeredHeight,
});

function stated(value: string | undefined, what: string): string {
  if (value === undefined) throw untold(what);
  return value;
}

function notListed(): never {
  throw new AppError(
    'NOT_FOUND',
    'There was no SuperNode of this operator address on the chain’s list at that height.',
  );
}

/** Accounts belong to operators by the records of the list as it is known: one that has left it has none. */
async function requireListedNow({ ask }: ReadSnapshot, operators: readonly string[]): Promise<void> {
  const listed = new Set((await ask(new NodesToRank({}))).map(({ operator }) => operator));
  const gone = operators.find((operator) => !listed.has(operator));
  if (gone !== undefined) throw untold(`the accounts of ${gone}, which has left the list since,`);
}
