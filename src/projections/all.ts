import { actionQueries } from './actions/queries.ts';
import { actions } from './actions/actions.ts';
import { chainQueries } from './chain/chain-queries.ts';
import { blockQueries } from './chain/queries.ts';
import { blocks } from './chain/blocks.ts';
import type { Table } from './columns.ts';
import { fleetQueries } from './fleet/queries.ts';
import { availability } from './fleet/availability.ts';
import { type Projection, type ProjectionName, projectionNames } from './projection.ts';
import type { QueryEntry } from './query.ts';
import { roundQueries } from './rounds/queries.ts';
import { syncRounds } from './rounds/rounds.ts';
import { storageQueries } from './storage/queries.ts';
import { peerBans, storedFiles } from './storage/storage.ts';
import { transferQueries } from './transfers/queries.ts';
import { transfers } from './transfers/transfers.ts';
import { versionQueries } from './versions.ts';
import { supernodes } from './fleet/supernodes.ts';
import { validators } from './fleet/validators.ts';
import { uptimeQueries } from './uptime/queries.ts';
import { incidents, uptimeDays, uptimeOpen } from './uptime/uptime.ts';

/** A projection of rows of any type, for the engine, which passes it no rows but its own. */
export type AnyProjection = Omit<Projection, 'on' | 'derived' | 'counters'> &
  Readonly<{
    on: Readonly<Record<string, unknown>>;
    derived?: unknown;
    counters?: readonly Readonly<{ table: Table; counts: unknown }>[];
  }>;

const byName: Readonly<Record<ProjectionName, AnyProjection>> = {
  actions,
  supernodes,
  validators,
  availability,
  rounds: syncRounds,
  transfers,
  blocks,
  stored_files: storedFiles,
  peer_bans: peerBans,
  uptime_days: uptimeDays,
  incidents,
  uptime_open: uptimeOpen,
};

/** Every projection there is, in the order of `projectionNames`. */
export const projections: readonly AnyProjection[] = projectionNames.map((name) => byName[name]);

/** Every query there is, with what answers it. */
export const queries: readonly QueryEntry[] = [
  ...actionQueries,
  ...fleetQueries,
  ...roundQueries,
  ...transferQueries,
  ...blockQueries,
  ...chainQueries,
  ...storageQueries,
  ...versionQueries,
  ...uptimeQueries,
];
