import { Type } from 'typebox';
import { component, cursorParameter, moment, nullable, optional, query, time, words } from '../../http/schema.ts';
import { operatorAddress } from '../rest/addresses.ts';
import { minHeight } from '../freshness/freshness.ts';
import { mostDays } from './window.ts';

const ratios = {
  up_seconds: Type.Integer({ description: 'Seconds for which a probe that passed speaks.' }),
  down_seconds: Type.Integer({ description: 'Seconds for which a probe that failed speaks.' }),
  unknown_seconds: Type.Integer({ description: 'All other seconds: nobody probed, or this instance reached no node.' }),
  availability: nullable(
    Type.Number({ description: 'Seconds up by seconds up and down; null where nothing is known.' }),
  ),
  coverage: nullable(Type.Number({ description: 'Seconds up and down by all seconds; null where there is none.' })),
};
const times = nullable(
  Type.Object(
    { p50: Type.Number(), p90: Type.Number(), p99: Type.Number() },
    {
      description:
        'Milliseconds that probes that passed took, of closed days: these percentiles, each within 2 %; null without any.',
    },
  ),
);
const probes = Type.Integer({ description: 'Probes.' });
const failedProbes = Type.Integer({ description: 'Probes that failed.' });
const from = time('Start.');
const to = time('End, not itself included.');

/** A day or an hour of a node. */
export const uptimePeriod = Type.Object({
  from,
  to,
  ...ratios,
  probes: nullable(Type.Integer({ description: 'Probes; null for hours.' })),
  failed_probes: nullable(Type.Integer({ description: 'Probes that failed; null for hours.' })),
  response_ms: times,
  closed: Type.Boolean({
    description: 'Whether an event holds the day for good; else it is as far as probes carry it.',
  }),
  event: nullable(Type.String({ description: 'Path of the event that closed the day; null while there is none.' })),
});

const definition = Type.String({ description: 'Version of the definition: docs/uptime.md has it in words.' });

/** The availability of one node. */
export const nodeUptime = component(
  'SuperNodeAvailability',
  Type.Object({
    id: operatorAddress,
    definition,
    from,
    to: time('End: the newest probe of any node that is known here, unless the request names another.'),
    ...ratios,
    probes,
    failed_probes: failedProbes,
    response_ms: times,
    periods: Type.Array(uptimePeriod, { description: 'In order of time, without a gap.' }),
  }),
);

/** A node in the list of the fleet. */
export const fleetUptimeItem = Type.Object({ id: operatorAddress, ...ratios, probes, failed_probes: failedProbes });

/** The availability of all listed nodes. */
export const fleetUptime = component(
  'FleetAvailability',
  Type.Object({
    definition,
    from: nullable(time('Start; null before the first probe.')),
    to: nullable(time('End; null before the first probe.')),
    supernodes: Type.Array(fleetUptimeItem),
    total: Type.Integer({ description: 'SuperNodes that match, over all pages.' }),
    cursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  }),
);

/** Some incidents. */
export const incidentList = component(
  'Incidents',
  Type.Object({
    definition,
    incidents: Type.Array(
      Type.Object({
        id: operatorAddress,
        state: words(['open', 'ended'], { description: '`open` until a probe passes again.' }),
        started_at: time('The first probe that failed.'),
        ended_at: nullable(time('The next probe that passed; null while there is none.')),
        duration_seconds: nullable(Type.Integer({ description: 'From start to end; null while it goes on.' })),
        failed_probes: Type.Integer({ description: 'Failures in a row, at least two.' }),
        ports: Type.Array(Type.Object({ port: Type.Integer(), outcome: Type.String() }), {
          description: 'Outcomes other than open that were seen.',
        }),
        status_answers: Type.Array(Type.String(), { description: 'Status answers other than ok that were seen.' }),
        event: nullable(
          Type.String({
            description: 'Path of the last event of a closed day that holds it; null while there is none.',
          }),
        ),
      }),
    ),
    cursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  }),
);

const windowParameters = {
  window: optional(
    Type.String({
      pattern: `^(?:[1-9]\\d?|[1-3]\\d\\d|${mostDays})d$`,
      description: `Days in UTC up to the end, the last one included: 1d to ${mostDays}d; 30d unless from is set.`,
    }),
  ),
  from: optional(moment('Start; the midnight at or before it counts.')),
  to: optional(moment('End; the midnight at or after it counts, or the newest probe where that is earlier.')),
};
const limit = Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'Entries on a page.' });

/** Parameters of one node’s availability. */
export const nodeUptimeQuery = query({
  ...windowParameters,
  min_height: minHeight,
  resolution: Type.Unsafe<'1d' | '1h'>({
    type: 'string',
    enum: ['1d', '1h'],
    default: '1d',
    description: 'Periods of a day, or of an hour where the day is closed; hours go with 31 days at most.',
  }),
});

/** Parameters of the fleet’s availability. */
export const fleetUptimeQuery = query({
  ...windowParameters,
  min_height: minHeight,
  sort: Type.Unsafe<'availability' | 'id'>({
    type: 'string',
    enum: ['availability', 'id'],
    default: 'availability',
    description: 'By availability, the least first and those of which nothing is known last; or by id.',
  }),
  min_coverage: optional(
    Type.String({
      pattern: '^(?:0|1|0?\\.\\d{1,9}|1\\.0{1,9})$',
      description: 'Only nodes with at least this coverage: a number from 0 to 1, such as 0.9.',
    }),
  ),
  limit,
  cursor: cursorParameter,
});

const incidentParameters = {
  state: optional(words(['open', 'ended'], { description: 'Whether it goes on.' })),
  from: optional(moment('Only incidents that were open at or after it.')),
  to: optional(moment('Only incidents that started before it.')),
  limit,
  cursor: cursorParameter,
  min_height: minHeight,
};

/** Parameters of lists of incidents. */
export const incidentQuery = query(incidentParameters);

/** All components of these routes. */
export const uptimeComponents = [nodeUptime, fleetUptime, incidentList];
