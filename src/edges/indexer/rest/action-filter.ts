import type { Static } from 'typebox';
import type { ActionFilter } from '../../../projections/actions/action-list.ts';
import type { StatsFilter } from '../../../projections/actions/action-stats.ts';
import type { actionListQuery, actionStatsQuery } from './action-schemas.ts';
import { parseAddress } from './addresses.ts';
import type { Walk } from '../../http/cursor.ts';
import { isInOrder, secondFrom, secondUntil } from '../../http/instant.ts';
import { requireOrder } from '../../http/parameters.ts';

type Given = Omit<Static<typeof actionListQuery>, 'limit' | 'cursor' | 'include_transactions'>;

/** The filter of a list, its addresses checked, and the walk that its cursors are bound to. */
export function readFilter(given: Given, accountPrefix: string): { filter: ActionFilter; walk: Walk } {
  const { fromHeight, toHeight } = given;
  requireOrder('fromHeight', 'toHeight', fromHeight === undefined || toHeight === undefined || fromHeight <= toHeight);
  const creator = given.creator === undefined ? undefined : parseAddress('creator', given.creator).text;
  const node = given.supernode === undefined ? undefined : parseAddress('supernode', given.supernode);
  const supernode =
    node && (node.prefix === `${accountPrefix}valoper` ? { operator: node.text } : { account: node.text });
  return {
    filter: { ...given, creator, supernode },
    walk: { list: 'actions', filters: { ...given, creator, supernode: node?.text } },
  };
}

/** The window of the counts: whole seconds, as the read models write times. */
export function readWindow({ type, from, to }: Static<typeof actionStatsQuery>): StatsFilter {
  requireOrder('from', 'to', !from || !to || isInOrder(from, to));
  return { type, from: from && secondFrom(from), to: to && secondUntil(to) };
}
