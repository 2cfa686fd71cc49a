import { answered, Query } from '../query.ts';
import type { ActionRow } from '../tables.ts';
import { type ActionFilter, type ActionPage, listActions, operatorsOf } from './action-list.ts';
import { actionById, actionStats, type ActionStats, type StatsFilter } from './action-stats.ts';
import { actionStatsByNode } from './node-actions.ts';
import type { AtHeight } from './height/height-rows.ts';
import { type IdsAtHeight, listAtHeight } from './height/height-list.ts';
import { type NodeStatsAtHeight, nodeStatsAtHeight, type StatsAtHeight, statsAtHeight } from './height/height-stats.ts';
import type { NodeActions } from './node-counts.ts';

type PageOfActions = ActionFilter & Readonly<{ after?: string | undefined; limit: number }>;

/** A page of actions, the newest first, and how many there are of them. */
export class ListActions extends Query<PageOfActions, ActionPage> {}

/** One action with all that is known of it, or undefined. */
export class ActionById extends Query<Readonly<{ id: string }>, ActionRow | undefined> {}

/** How many actions there are, by type and status. */
export class ActionStatistics extends Query<StatsFilter, ActionStats> {}

/** The operators whose accounts finalized an action. */
export class OperatorsOfAction extends Query<Readonly<{ action: ActionRow }>, string[]> {}

/** How many actions each listed SuperNode finalized. */
export class ActionsByNode extends Query<Readonly<Record<string, never>>, readonly NodeActions[]> {}

/** The ids of a page of actions as they were on the chain at a height, and how many there were. */
export class ListActionsAtHeight extends Query<PageOfActions & AtHeight, IdsAtHeight> {}

/** How many actions there were on the chain at a height, by type and status. */
export class ActionStatisticsAtHeight extends Query<StatsFilter & AtHeight, StatsAtHeight> {}

/** How many actions some SuperNodes had finalized at a height. */
export class ActionsByNodeAtHeight extends Query<
  AtHeight & Readonly<{ operators: readonly string[] }>,
  NodeStatsAtHeight
> {}

/** What answers each query of actions. */
export const actionQueries = [
  answered(ListActions, listActions),
  answered(ActionById, (reading, { id }) => actionById(reading, id)),
  answered(ActionStatistics, actionStats),
  answered(OperatorsOfAction, (reading, { action }) => operatorsOf(reading, action)),
  answered(ActionsByNode, actionStatsByNode),
  answered(ListActionsAtHeight, listAtHeight),
  answered(ActionStatisticsAtHeight, statsAtHeight),
  answered(ActionsByNodeAtHeight, nodeStatsAtHeight),
];
