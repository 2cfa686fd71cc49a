/** What the pages read, as the schemas of the routes have it. */
import type { Static } from 'typebox';
import type { actionDetail, actionList, actionListItem, actionStatsAnswer } from '../../rest/action-schemas.ts';
import type { fleetStatsAnswer, paymentInfo, superNodeList, superNodeMetrics } from '../../rest/supernode-schemas.ts';
import type { logList } from '../../proof/log-schemas.ts';
import type { incidentList, nodeUptime, uptimePeriod } from '../../uptime/uptime-schemas.ts';

export type ActionAnswer = Static<typeof actionDetail.ref>;
export type ActionItem = Static<typeof actionListItem.ref>;
export type ActionListing = Static<typeof actionList.ref>;
export type ActionCounts = Static<typeof actionStatsAnswer.ref>;
export type NodeAnswer = Static<typeof superNodeMetrics.ref>;
export type NodePage = Static<typeof superNodeList.ref>;
export type FleetAnswer = Static<typeof fleetStatsAnswer.ref>;
export type PaymentsAnswer = Static<typeof paymentInfo.ref>;
export type UptimeAnswer = Static<typeof nodeUptime.ref>;
/** A day of a node. */
export type UptimePeriod = Static<typeof uptimePeriod>;
export type IncidentsAnswer = Static<typeof incidentList.ref>;
export type LogsAnswer = Static<typeof logList.ref>;
/** One log of the list. */
export type LogAnswer = LogsAnswer['logs'][number];
export type { About as AboutAnswer, ModelStates as ModelsAnswer } from '../pages.ts';
export type { ChainActivity as ChainAnswer } from '../chain-activity.ts';

/** An event of the log. */
export type LoggedEvent = Readonly<{
  id: string;
  type: string;
  subject: string;
  time: string;
  data: Readonly<Record<string, unknown>>;
  causationid?: string;
  correlationid?: string;
  previousid?: string;
}>;

/** An event with where it is. */
export type LinkedEvent = Readonly<{ stream: string; sequence: number; event: LoggedEvent }>;

/** One of the gateway's transfers. */
export type TransferItem = Readonly<{
  task_id: string;
  action_id: string;
  file_name: string | null;
  file_size_kbs: number | null;
  status: string;
  created_at: string;
}>;
/** The gateway's latest transfers. */
export type TransfersAnswer = Readonly<
  Record<'uploads' | 'downloads', Readonly<{ requests: readonly TransferItem[]; count: number }>>
>;

/** An answer of the API with its headers. */
export type WithHeaders<T> = Readonly<{ body: T; headers: Headers }>;
/** What a page has of an answer so far. */
export type ReadState<T> = Readonly<{
  body?: T;
  headers?: Headers;
  failure?: string;
  status?: number;
  /** Time after which the page reads it again by itself. */
  againInMs?: number;
  isLoading: boolean;
}>;
/** What every page gets: parts of its path and its query. */
export type PageProps = Readonly<{ parts: Readonly<Record<string, string>>; query: URLSearchParams }>;
