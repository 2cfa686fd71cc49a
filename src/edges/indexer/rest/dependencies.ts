import type { RefusalPage } from '../../http/errors.ts';
import type { App } from '../../http/schema.ts';
import type { Followed, Reading } from '../../../projections/reading.ts';
import type { Parsed } from '../../../kit/setting.ts';
import type { indexerSettings } from '../settings.ts';
import type { Cursors } from '../../http/cursor.ts';
import type { Observed } from '../../../kit/observed.ts';
import type { Logger } from '../../../kit/logger.ts';
import type { EventLinks } from '../../../engine/archive/event-links.ts';
import type { EventReads } from '../../../engine/archive/event-reads.ts';
import type { ProvenLogs } from '../../../engine/archive/proof/serving.ts';
import type { EventSource } from '../proof/event-tail.ts';
import type { LagTracker } from '../../../engine/log/lag.ts';
import type { PastLog } from './as-of.ts';
import type { CachedRead } from './answer-cache.ts';
import type { Ranks } from './ranks.ts';
import type { OnMoved } from '../freshness/waiting.ts';
import type { Read } from './reads.ts';

/** Where a request for a round lies in the log, and when it was made. */
type SyncRequest = Readonly<{ position: Followed; at: string }>;

/** The settings that the API depends on. */
type RestSettings = Pick<Parsed<typeof indexerSettings>, 'corsAllowOrigins' | 'allowManualSync' | 'syncToken'> &
  Readonly<{
    /** Subnets of proxies whose forwarded address is believed. */
    trustedProxies: readonly string[];
    /** Name of the network, the label of every figure. */
    network: string;
    /** Where subscribers reach the broker, over NATS and over WebSocket. */
    natsPort: number;
    natsWsPort: number;
    /**
     * Of the network: the Bech32 prefix of accounts (that of operators appends `valoper`), and what it recommends to
     * run.
     */
    profile: Readonly<{ addressPrefix: string; recommendedVersion?: string | undefined }>;
  }>;

/** Everything that the REST edge takes from outside. */
export type RestDependencies = Readonly<{
  /** Consistent snapshots of the read models. */
  reader: Readonly<{ read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T> }>;
  lag: LagTracker;
  /** What the log and its archive know of the past. */
  past: PastLog;
  /** Events byte for byte. */
  events: EventReads;
  /** Events by what links them. */
  links: EventLinks;
  /** The proven logs. */
  logs: ProvenLogs;
  /** The events of the log, byte for byte. */
  eventSource: EventSource;
  /** The checks and figures of the process at this moment, for its operations. */
  observed: () => Observed;
  /** Requests a round of SuperNodes and validators at once; joins a pending request. */
  requestSync: (at: string, traceparent?: string) => Promise<SyncRequest>;
  /**
   * Calls back with every live event as one line of JSON, and with a name where it is not an event of the log but a
   * hint that a read model advanced; until the returned function is called.
   */
  subscribe: (onEvent: (json: string, name?: 'moved') => void) => () => void;
  /** Calls back when a read model advances, until the returned function is called. */
  onMoved: OnMoved;
  settings: RestSettings;
  /** The public key that deliveries to webhooks are signed by (`whpk_…`); undefined before there is one. */
  webhookKey: () => Promise<string | undefined>;
  /** Seals cursors; the same on every replica. */
  cursorKey: string | Uint8Array;
  logger: Logger;
  /** Milliseconds since 1970. */
  clock: () => number;
  /** Ends all live connections, and all waits. */
  signal: AbortSignal;
  /** Version of the program, for the OpenAPI document. */
  version: string;
  /** Adds `/`, `/docs` and what they load. */
  registerPages?: (app: App) => Promise<void>;
  /** The page that a browser gets where nothing lies. */
  refusalPage?: RefusalPage;
}>;

/** The shared parts of the routes: the dependencies, and the values derived from them once. */
export type RouteDependencies = RestDependencies &
  Readonly<{ read: CachedRead; readOnce: Read; cursors: Cursors; ranks: Ranks }>;
