import { answered, Query } from '../query.ts';
import {
  type DaySpan,
  daysOfNode,
  newestProbe,
  type NodeDays,
  type NodeSums,
  sumsOfNodes,
} from './availability-days.ts';
import { type IncidentFilter, type IncidentPosition, type ListedIncident, listIncidents } from './incident-list.ts';

type Nothing = Readonly<Record<string, never>>;
type PageOfIncidents = IncidentFilter & Readonly<{ after?: IncidentPosition | undefined; limit: number }>;

/** The time of the newest probe of any node. */
export class NewestProbe extends Query<Nothing, string | undefined> {}

/** The days of one node. */
export class DaysOfNode extends Query<DaySpan & Readonly<{ node: string }>, NodeDays> {}

/** The sums of the days of every listed node. */
export class SumsOfNodes extends Query<DaySpan, NodeSums[]> {}

/** A page of incidents, newest first. */
export class ListIncidents extends Query<PageOfIncidents, Readonly<{ rows: ListedIncident[]; hasMore: boolean }>> {}

/** What answers each query of uptime. */
export const uptimeQueries = [
  answered(NewestProbe, newestProbe),
  answered(DaysOfNode, daysOfNode),
  answered(SumsOfNodes, sumsOfNodes),
  answered(ListIncidents, listIncidents),
];
