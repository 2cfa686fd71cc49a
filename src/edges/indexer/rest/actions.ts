import type { Static } from 'typebox';
import type { ActionFilter, ListedAction } from '../../../projections/actions/action-list.ts';
import type { ActionStats, StatsFilter } from '../../../projections/actions/action-stats.ts';
import {
  ActionStatistics,
  ActionStatisticsAtHeight,
  ListActions,
  ListActionsAtHeight,
} from '../../../projections/actions/queries.ts';
import { actionsAtHeight } from '../height/actions-at-height.ts';
import { requireClear, requireRead } from '../height/at-height.ts';
import { actionList, actionListQuery, actionStatsAnswer, actionStatsQuery } from './action-schemas.ts';
import { parseAddress } from './addresses.ts';
import { instantOf, instantOfWalk } from './as-of.ts';
import { listItemOf } from './action-views.ts';
import type { RouteDependencies } from './dependencies.ts';
import type { ReadSnapshot } from './reads.ts';
import { createLiveActions, takesEvents } from './live-actions.ts';
import { versionsRoutes } from './versions.ts';
import type { Walk } from '../../http/cursor.ts';
import { isInOrder, secondFrom, secondUntil } from '../../http/instant.ts';
import { requireOrder } from '../../http/parameters.ts';
import { type App, readAnswers, readRequestHeaders } from '../../http/schema.ts';

const tags = ['Actions'];
const ofActions = { projections: ['actions'], sources: ['actions'] } as const;
/** An operator's accounts come from the SuperNodes: in the list's filter and in the detail; an account is its own. */
const withNodes = { projections: ['actions', 'supernodes'], sources: ['actions', 'supernodes'] } as const;

/** `/v1/actions`, its counts, and the versions of records. */
export function actionRoutes(app: App, dependencies: RouteDependencies): void {
  addList(app, dependencies);
  addCounts(app, dependencies);
  versionsRoutes(app, dependencies);
}

function addList(app: App, dependencies: RouteDependencies): void {
  const { read, cursors, settings } = dependencies;
  const showLive = createLiveActions(app, dependencies);
  const schema = {
    tags,
    operationId: 'listActions',
    summary: 'Actions, the newest first',
    description:
      'Ordered by id as a number, descending. `cursor` leads to the next page; the total is exact. With `Accept: text/event-stream` the list once, then the rows that enter, change or leave it.',
    querystring: actionListQuery,
    headers: readRequestHeaders,
    response: readAnswers('A page of actions.', actionList.ref, 400, 409, 410),
  };
  app.get('/v1/actions', { schema }, async (request, reply) => {
    const { query } = request;
    const { limit, cursor, include_transactions: withTransactions, as_of: _, min_height: _height, ...given } = query;
    const { walk, filter } = readFilter(given, settings.profile.addressPrefix);
    const { at_height: height, as_of: asOf } = query;
    if (takesEvents(request) && cursor === undefined && asOf === undefined && height === undefined)
      return await showLive(request, reply, { filter, limit, withTransactions });
    const position = cursor === undefined ? undefined : cursors.open(walk, cursor);
    const { instant, check } = instantOfWalk(instantOf({ query }), position);
    const ofOperator = filter.supernode && 'operator' in filter.supernode;
    const scope = { ...(ofOperator ? withNodes : ofActions), instant };
    return await read(reply, scope, async (snapshot) => {
      check(snapshot);
      const match = await pageOf(dependencies, snapshot, {
        filter: { ...filter, after: position?.after, limit },
        height,
      });
      const page = (position?.pages ?? 0) + 1;
      const last = match.rows.at(-1);
      return {
        actions: match.rows.map((row) => listItemOf(row, withTransactions)),
        total: match.total,
        page,
        ...(match.hasMore && last
          ? { cursor: cursors.seal(walk, { after: last.id, pages: page, instant: snapshot.instant }) }
          : {}),
      };
    });
  });
}

type Page = ListActions['asked'];
type Shown = Readonly<{ rows: readonly ListedAction[]; total: number; hasMore: boolean }>;

/** A page of actions as a snapshot has them, or as they were on the chain at a height. */
async function pageOf(
  dependencies: RouteDependencies,
  snapshot: ReadSnapshot,
  { filter, height }: Readonly<{ filter: Page; height: number | undefined }>,
): Promise<Shown> {
  if (height === undefined) return await snapshot.ask(new ListActions(filter));
  requireRead(snapshot, ['actions'], height);
  const { ids, total, unclear, hasMore } = await snapshot.ask(new ListActionsAtHeight({ ...filter, height }));
  requireClear(unclear);
  return { rows: await actionsAtHeight(dependencies, snapshot, { ids, height }), total, hasMore };
}

function addCounts(app: App, { read }: RouteDependencies): void {
  const schema = {
    tags,
    operationId: 'actionStats',
    summary: 'Counts of actions',
    description: '`from` and `to` compare `created_at`, both ends included; an action of unknown time is in no window.',
    querystring: actionStatsQuery,
    headers: readRequestHeaders,
    response: readAnswers('Exact counts.', actionStatsAnswer.ref, 400, 409, 410),
  };
  app.get('/v1/actions/stats', { schema }, async ({ query }, reply) => {
    const window = readWindow(query);
    return await read(reply, { ...ofActions, instant: instantOf({ query }) }, async (snapshot) => {
      const counts = await countsOf(snapshot, window, query.at_height);
      return {
        total_actions: counts.total,
        cascade_count: counts.cascade,
        sense_count: counts.sense,
        registered_count: counts.registered,
        finalized_count: counts.finalized,
        approved_count: counts.approved,
        expired_count: counts.expired,
      };
    });
  });
}

async function countsOf(snapshot: ReadSnapshot, window: StatsFilter, height: number | undefined): Promise<ActionStats> {
  if (height === undefined) return await snapshot.ask(new ActionStatistics(window));
  requireRead(snapshot, ['actions'], height);
  const counts = await snapshot.ask(new ActionStatisticsAtHeight({ ...window, height }));
  requireClear(counts.unclear);
  return counts;
}

type Input = Omit<Static<typeof actionListQuery>, 'limit' | 'cursor' | 'include_transactions' | 'as_of' | 'min_height'>;

/** The filter of a list, its addresses checked, and the walk that its cursors are bound to. */
function readFilter(input: Input, accountPrefix: string): { filter: ActionFilter; walk: Walk } {
  const { at_height: _, ...fields } = input;
  const { fromHeight, toHeight } = fields;
  requireOrder('fromHeight', 'toHeight', fromHeight === undefined || toHeight === undefined || fromHeight <= toHeight);
  const creator = input.creator === undefined ? undefined : parseAddress('creator', input.creator).text;
  const node = input.supernode === undefined ? undefined : parseAddress('supernode', input.supernode);
  const supernode =
    node && (node.prefix === `${accountPrefix}valoper` ? { operator: node.text } : { account: node.text });
  const dataHash = fields.dataHash === undefined ? undefined : textsOfHash(fields.dataHash);
  return {
    filter: { ...fields, creator, supernode, dataHash },
    walk: { list: 'actions', filters: { ...input, creator, supernode: node?.text } },
  };
}

/** The window of the counts, to the second, as the read models write times. */
function readWindow({ type, from, to }: Static<typeof actionStatsQuery>): StatsFilter {
  requireOrder('from', 'to', !from || !to || isInOrder(from, to));
  return { type, from: from && secondFrom(from), to: to && secondUntil(to) };
}

const hashBytes = 32;

/**
 * The texts that an action may have for a data hash: the text itself, and where it is of 32 bytes in hex, base64 or
 * base64url, each of these.
 */
function textsOfHash(text: string): readonly string[] {
  const plain = text.replaceAll(' ', '+');
  const bytes = Buffer.from(plain, /^[\da-f]{64}$/i.test(plain) ? 'hex' : 'base64');
  if (bytes.length !== hashBytes) return [plain];
  return [...new Set([plain, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')])];
}
