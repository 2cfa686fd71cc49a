import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Storage } from '../storage/storage.ts';
import type { Peer } from './directory.ts';
import type { Neighbours, Why } from './neighbours.ts';
import { ranked } from './rank.ts';

/** Where files belong. */
export type Placement = Readonly<{
  /**
   * Accounts of the nodes that the chain lets finalize an action, nearest to its height first. The chain is queried
   * once for a file that is kept. Fails with `UNAVAILABLE` where it gives no answer.
   */
  groupOf: (actionId: string) => Promise<readonly string[]>;
  /**
   * Other nodes that may hold a file: those of its group, then those that replace nodes which are gone. Where the chain
   * gives no answer, the group is empty.
   */
  candidates: (actionId: string, why: Why) => Promise<Candidates>;
  /**
   * Returns whether a file may lie at this node: others than the group's hold one only near the front of their ranking.
   */
  mayHold: (actionId: string) => Promise<boolean>;
  /** Returns which accounts should hold a file, this node's perhaps among them, by the current state of the nodes. */
  holdersNow: () => Promise<(actionId: string) => Promise<readonly string[]>>;
}>;

/** Nodes in the order of requests; `rest` is computed only when the group does not suffice. */
export type Candidates = Readonly<{
  group: readonly Peer[];
  rest: () => readonly Peer[];
  /** Other active nodes that the chain lists, banned ones too. */
  listed: number;
}>;

/** Whose view it is, and how many nodes should hold a file. */
export type PlacementOptions = Readonly<{
  account: string;
  chain: Pick<CascadeChain, 'action' | 'finalizers'>;
  storage: Pick<Storage, 'index' | 'mark'>;
  neighbours: Pick<Neighbours, 'all' | 'listed' | 'isGone'>;
  copies: number;
}>;

const rememberedGroups = 1_000;
/**
 * So many nodes beyond its group receive requests for a file: they hold it only where most of the group was gone once.
 */
const mostBeyond = 32;

/**
 * A file belongs to the first nodes of the group that the chain itself names for its action, so that the group is known
 * without a request to any node, and a file concerns ten of them however many there are. Nodes that are gone are
 * skipped; where too few of the group are left, others follow, ranked by a hash of each account.
 */
export function createPlacement({ account, chain, storage, neighbours, copies }: PlacementOptions): Placement {
  const groups = new Map<string, readonly string[]>();
  let memo: { alive: string; holders: Map<string, readonly string[]> } = { alive: '', holders: new Map() };
  const remember = (actionId: string, group: readonly string[]): void => {
    groups.set(actionId, group);
    const [oldest] = groups.keys();
    if (groups.size > rememberedGroups && oldest !== undefined) groups.delete(oldest);
  };
  const groupOf: Placement['groupOf'] = async (actionId) => {
    const known = storage.index.file(actionId)?.group ?? groups.get(actionId);
    if (known) return known;
    const action = await chain.action(actionId);
    if (!action) return [];
    const group = await chain.finalizers(action.record.height ?? 0);
    remember(actionId, group);
    await storage.mark(actionId, { group });
    return group;
  };
  const holdersAmong = async (actionId: string, alive: ReadonlySet<string>): Promise<readonly string[]> => {
    const group = await groupOf(actionId);
    const first = group.filter((one) => alive.has(one)).slice(0, copies);
    if (first.length === copies || first.length === alive.size) return first;
    const others = [...alive].filter((one) => !group.includes(one)).map((one) => ({ account: one }));
    return [...first, ...ranked(actionId, others).map((one) => one.account)].slice(0, copies);
  };
  return {
    groupOf,
    candidates: async (actionId, why) => {
      const peers = await neighbours.all(why);
      const accounts = await groupOf(actionId).catch((): readonly string[] => []);
      const group = accounts.flatMap((one) => peers.find((peer) => peer.account === one) ?? []);
      const isOther = (peer: Peer): boolean => !accounts.includes(peer.account);
      const rest = (): readonly Peer[] => ranked(actionId, peers.filter(isOther)).slice(0, mostBeyond);
      return { group, rest, listed: await neighbours.listed() };
    },
    mayHold: async (actionId) => {
      const group = await groupOf(actionId);
      if (group.includes(account)) return true;
      const others = [{ account }, ...(await neighbours.all('repair'))].filter((one) => !group.includes(one.account));
      return ranked(actionId, others)
        .slice(0, mostBeyond)
        .some((one) => one.account === account);
    },
    holdersNow: async () => {
      const peers = (await neighbours.all('repair')).filter((peer) => !neighbours.isGone(peer));
      const alive = new Set([account, ...peers.map((peer) => peer.account)]);
      const key = [...alive].join();
      if (memo.alive !== key) memo = { alive: key, holders: new Map() };
      const { holders } = memo;
      return async (actionId) => {
        const known = holders.get(actionId) ?? (await holdersAmong(actionId, alive));
        holders.set(actionId, known);
        return known;
      };
    },
  };
}
