import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Followed, Reading } from '../../../projections/reading.ts';
import type { Loss, Standing } from '../../audit/standing.ts';
import type { Config } from '../../config.ts';
import type { Logger } from '../../kit/logger.ts';
import type { Generation as StoredGeneration } from '../../models/engine/generations.ts';
import type { Heads } from './lag.ts';

/** How a generation of a projection stands; `stoppedReason` is null while it runs. */
export type Generation = Pick<
  StoredGeneration,
  'projection' | 'generation' | 'status' | 'stream' | 'position' | 'stoppedReason'
>;

/** Consistent looks at the read models. */
export type Reader = Readonly<{
  read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T>;
  /** Those that readers see, and those being built. */
  generations: () => Promise<readonly Generation[]>;
}>;

/** Where a request for a round lies in the log, and when it was made. */
export type SyncRequest = Readonly<{ position: Followed; at: string }>;

/** What the log's server says of itself: the durability in force, and what of it falls short. */
export type BrokerState = Readonly<{ durability: string; warnings: readonly string[] }>;

/** The archive beside the log: what the last comparison found, and what is lost. */
export type ArchiveState = Readonly<{ standings: readonly Standing[]; losses: readonly Loss[] }>;

/** The settings that the API depends on. */
export type RestSettings = Pick<
  Config,
  | 'corsAllowOrigins'
  | 'allowManualSync'
  | 'syncToken'
  | 'actionsSyncIntervalMs'
  | 'supernodesSyncIntervalMs'
  | 'validatorsSyncIntervalMs'
  | 'probeIntervalMs'
  | 'scrubIntervalMs'
  | 'scrubPerSecond'
> &
  Readonly<{
    /** Of the network: the Bech32 prefix of accounts (that of operators appends `valoper`), and what it recommends to run. */
    profile: Readonly<{ addressPrefix: string; recommendedVersion?: string }>;
  }>;

/** Everything that the REST edge takes from outside. */
export type RestDependencies = Readonly<{
  reader: Reader;
  /** The ends of the streams; asked each second. */
  heads: () => Promise<Heads>;
  /** Fails while the log's server does not answer. */
  broker: () => Promise<BrokerState>;
  /** How the archive of each stream stands, and what neither store has any more. */
  archive: () => Promise<ArchiveState>;
  /** Asks for a round of SuperNodes and validators at once; joins one that is asked for already. */
  requestSync: (at: string) => Promise<SyncRequest>;
  /**
   * Calls back with every live event as one line of JSON, and with a name where it is not an event of the log but a hint that a read model
   * moved; until the returned function is called.
   */
  subscribe: (onEvent: (json: string, name?: 'moved') => void) => () => void;
  /** The chain's metadata bytes, in base64, with the chain's field names; undefined where they cannot be read. */
  decodeMetadata: (kind: 'cascade' | 'sense', metadata: string) => Readonly<Record<string, unknown>> | undefined;
  settings: RestSettings;
  /** Seals cursors; the same on every replica. */
  cursorKey: string | Uint8Array;
  logger: Logger;
  /** Milliseconds since 1970. */
  clock: () => number;
  /** Ends the watching of the log and all live connections. */
  signal: AbortSignal;
  /** Version of the program, for the OpenAPI document. */
  version: string;
  /** Adds `/`, `/docs` and what they load. */
  registerPages?: (app: FastifyInstance) => Promise<void>;
  /** Metrics of other parts of the process, shown with those of this one. */
  registry?: Registry;
  /** Whether only the routes of operations are there, as in a process that does not index. */
  operationsOnly?: boolean;
}>;
