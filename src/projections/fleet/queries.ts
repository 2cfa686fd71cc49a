import type { PaidTotal } from '../actions/totals/payment-counters.ts';
import { answered, Query } from '../query.ts';
import {
  accountsOfUnavailable,
  type CurrentState,
  type FleetFilter,
  type FleetNode,
  type FleetPage,
  listSuperNodes,
  superNodeById,
  type UnavailableNode,
  unavailableNodes,
} from './fleet.ts';
import {
  everyNode,
  fleetStats,
  type FleetStats,
  nodesToRank,
  type NodeToRank,
  paymentsOf,
  type VersionInUse,
  versionsInUse,
} from './fleet-stats.ts';

type Nothing = Readonly<Record<string, never>>;
type PageOfNodes = FleetFilter & Readonly<{ after?: string | undefined; limit: number }>;

/** A page of SuperNodes with their latest figures, and how many there are of them. */
export class ListSuperNodes extends Query<PageOfNodes, FleetPage> {}

/** One listed SuperNode with its latest figures, or undefined. */
export class SuperNodeById extends Query<Readonly<{ operator: string }>, FleetNode | undefined> {}

/** The SuperNodes that are not available. */
export class UnavailableNodes extends Query<Readonly<{ currentState?: CurrentState | undefined }>, UnavailableNode[]> {}

/** Accounts of the SuperNodes whose latest probe failed. */
export class AccountsOfUnavailable extends Query<Nothing, string[]> {}

/** Figures of all listed SuperNodes together. */
export class FleetStatistics extends Query<Nothing, FleetStats> {}

/** The payments to an operator, by denomination; those up to a height where one is named. */
export class PaymentsOfNode extends Query<Readonly<{ operator: string; height?: number | undefined }>, PaidTotal[]> {}

/** The versions that listed nodes report. */
export class VersionsInUse extends Query<Nothing, VersionInUse[]> {}

/** What ranks are computed from. */
export class NodesToRank extends Query<Nothing, NodeToRank[]> {}

/** The ids of all SuperNodes that ever were listed, ordered bytewise. */
export class EveryNode extends Query<Nothing, string[]> {}

/** What answers each query of the fleet. */
export const fleetQueries = [
  answered(ListSuperNodes, listSuperNodes),
  answered(SuperNodeById, (reading, { operator }) => superNodeById(reading, operator)),
  answered(UnavailableNodes, (reading, { currentState }) => unavailableNodes(reading, currentState)),
  answered(AccountsOfUnavailable, accountsOfUnavailable),
  answered(FleetStatistics, fleetStats),
  answered(PaymentsOfNode, paymentsOf),
  answered(VersionsInUse, versionsInUse),
  answered(NodesToRank, nodesToRank),
  answered(EveryNode, everyNode),
];
