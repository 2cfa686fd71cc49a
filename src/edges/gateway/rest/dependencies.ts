import type { Reading } from '../../../projections/reading.ts';
import type { CascadeChain } from '../../chain/files/chain.ts';
import type { Parsed } from '../../../kit/setting.ts';
import type { Origins } from '../../../kit/setting-forms.ts';
import type { gatewaySettings } from '../settings.ts';
import type { Observed } from '../../../kit/observed.ts';
import type { Logger } from '../../../kit/logger.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { PageUser } from '../pages/pages.ts';
import type { TransferFiles } from '../tasks/files.ts';
import type { Elsewhere } from '../tasks/elsewhere.ts';
import type { Runner } from '../tasks/runner.ts';

/** Transfers take the time that they need, and streams last; what stalls is ended by other means. */
export const longestMs = 86_400_000;

/** The settings that the gateway's routes depend on. */
export type GatewaySettings = Pick<
  Parsed<typeof gatewaySettings>,
  | 'uploadMaxSize'
  | 'uploadStallTimeoutMs'
  | 'uploadMinRate'
  | 'uploadTempMaxAgeMs'
  | 'uploadsMaxPerAddress'
  | 'transferSpace'
  | 'downloadsMax'
  | 'downloadsMaxPerAddress'
  | 'rateLimit'
  | 'sseMax'
  | 'sseMaxPerAddress'
  | 'downloadKeepMs'
  | 'publicDownloads'
  | 'signatures'
> &
  Readonly<{
    /** Web origins whose pages may call. */
    corsAllowOrigins: Origins;
    /** Subnets of proxies whose forwarded address is believed. */
    trustedProxies: readonly string[];
    network: string;
  }>;

/** Everything that the gateway's routes take from outside. */
export type GatewayDependencies = Readonly<{
  log: Log;
  reader: Readonly<{ read: <T>(use: (reading: Reading) => Promise<T>) => Promise<T> }>;
  chain: CascadeChain;
  files: TransferFiles;
  runner: Runner;
  elsewhere: Elsewhere;
  settings: GatewaySettings;
  /** The user that registers and signs on the page of the local network. */
  pageUser: PageUser | undefined;
  /** Where the actions are shown, once that runs; null where it is not known. */
  explorerUrl?: () => string | null;
  observed: () => Observed;
  logger: Logger;
  /** Milliseconds since 1970. */
  clock: () => number;
  /** Ends all streams. */
  signal: AbortSignal;
  /** How long a body may take that is not an upload's; 15 s by default. */
  bodyWithinMs?: number;
  /** Of the program. */
  version: string;
}>;
