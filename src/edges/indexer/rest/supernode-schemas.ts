import { Type } from 'typebox';
import { component, cursorParameter, nullable, optional, query, time, wordOf, words } from '../../http/schema.ts';
import { explainedFields } from '../provenance/record-schemas.ts';
import { operatorAddress } from './addresses.ts';
import { currentStatePattern } from './current-state.ts';
import { asOf } from './as-of.ts';
import { superNodeRecord, superNodeRecords } from '../height/node-answers.ts';
import { minHeight } from '../freshness/freshness.ts';

const probeStatuses = ['available', 'unavailable'] as const;
const status = wordOf(
  probeStatuses,
  '`available` when the latest probe passed, else, and before the first probe, `unavailable`.',
);
const ip = Type.String({
  description: 'Of the chain’s latest address entry, without its port: an address, a host name, or junk as it is.',
});
const failedProbeCounter = Type.Integer({
  description: 'Failed probes in a row; 0 before the first probe and after a success.',
});
const figure = (description: string) =>
  nullable(
    Type.Number({ description: `${description} Of the last well-formed status answer; null until there is one.` }),
  );
const completeFigure = (description: string) =>
  nullable(
    Type.Integer({ description: `${description} Of the last well-formed status answer; null until there is one.` }),
  );

/** The metrics of one SuperNode. */
export const superNodeMetrics = component(
  'SuperNodeMetrics',
  Type.Object({
    id: operatorAddress,
    ip,
    status,
    rank: nullable(
      Type.Integer({
        description:
          'Place, from 1, in the chain’s top list at the height of the last SuperNode sync; null for those that the list leaves out.',
      }),
    ),
    version: nullable(Type.String({ description: 'Software version, as reported; null until first known.' })),
    registered_services: Type.Array(Type.String(), {
      description: 'For example `cascade` and `sense`; empty while unknown.',
    }),
    peer_count: completeFigure('Peer connections.'),
    cpu_cores: completeFigure('CPU cores.'),
    cpu_usage_percent: figure('CPU usage in percent.'),
    memory_total_gb: figure('Installed RAM in GB (1024³ bytes).'),
    memory_used_gb: figure('RAM in use in GB.'),
    storage_total_gb: figure('Capacity of all volumes in GB.'),
    storage_used_gb: figure('Storage in use on all volumes in GB.'),
    failed_probe_counter: failedProbeCounter,
    current_state: Type.String({ description: 'The SuperNode’s state on the chain.' }),
    last_seen_at: nullable(time('Of the last probe that passed; null when none ever did.')),
    probed_at: nullable(time('Of the latest probe; null before the first one.')),
    explained: Type.Optional(explainedFields.ref),
  }),
);

/** A page of SuperNodes. */
export const superNodeList = component(
  'SuperNodeMetricsList',
  Type.Object({
    supernodes: Type.Array(superNodeMetrics.ref),
    total: Type.Integer({ description: 'SuperNodes that match, over all pages; exact.' }),
    cursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  }),
);

/** The payments to a SuperNode. */
export const paymentInfo = component(
  'PaymentInfo',
  Type.Object({
    id: operatorAddress,
    payments: Type.Array(
      Type.Object({
        denom: Type.String({ description: 'Token denomination.' }),
        total_amount: Type.String({ description: 'In the smallest unit; a decimal integer of any size.' }),
        payment_count: Type.Integer({ description: 'Transactions that the total adds up.' }),
      }),
      { description: 'One entry per denomination.' },
    ),
  }),
);

/** Figures of all SuperNodes together. */
export const fleetStatsAnswer = component(
  'FleetStats',
  Type.Object({
    total_supernodes: Type.Integer({ description: 'All on the chain’s list.' }),
    available_count: Type.Integer({ description: 'Those whose latest probe passed.' }),
    unavailable_count: Type.Integer({ description: 'All others.' }),
    avg_cpu_usage_percent: Type.Number({ description: 'Average over available nodes; 0 when there is none.' }),
    total_storage_tb: Type.Number({ description: 'Capacity of available nodes in TB (1024 GB).' }),
    total_memory_gb: Type.Number({ description: 'RAM of available nodes in GB.' }),
  }),
);

/** What each SuperNode finalized. */
export const nodeActions = component(
  'SuperNodeActionStats',
  Type.Object({
    supernodes: Type.Array(
      Type.Object({
        id: operatorAddress,
        cascade_count: Type.Integer(),
        sense_count: Type.Integer(),
        total_count: Type.Integer({ description: 'Cascade plus Sense.' }),
      }),
    ),
  }),
);

/** The SuperNodes that are not available. */
export const unavailableList = component(
  'UnavailableSuperNodes',
  Type.Object({
    supernodes: Type.Array(
      Type.Object({
        id: operatorAddress,
        ip,
        failed_probe_counter: failedProbeCounter,
        last_seen_at: nullable(time('Of the last probe that passed; null when none ever did.')),
      }),
    ),
  }),
);

const currentState = optional(
  Type.String({
    pattern: currentStatePattern,
    description:
      'State of the SuperNode (active, disabled, stopped, penalized, postponed, storage_full) or of its validator (bonded, unbonding, unbonded, jailed), in any case, also in the chain’s long form.',
  }),
);

/** Parameters of the list. */
export const superNodeListQuery = query({
  status: optional(words(probeStatuses, { description: 'Outcome of the latest probe.' })),
  currentState,
  version: optional(Type.String({ description: 'Exactly this version, as reported.' })),
  minFailedProbeCounter: optional(
    Type.Integer({ minimum: 0, maximum: 4_294_967_295, description: 'Failed probes in a row, at least.' }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'SuperNodes on a page.' }),
  cursor: cursorParameter,
  as_of: asOf,
  min_height: minHeight,
});

/** Parameters of the list of unavailable nodes. */
export const unavailableQuery = query({ currentState, as_of: asOf, min_height: minHeight });

/** All components of these routes. */
export const superNodeComponents = [
  superNodeMetrics,
  superNodeList,
  paymentInfo,
  fleetStatsAnswer,
  nodeActions,
  unavailableList,
  superNodeRecord,
  superNodeRecords,
];
