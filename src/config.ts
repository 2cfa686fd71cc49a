import type { Network } from './events/ids.ts';
import { auditorSettings } from './engine/archive/settings.ts';
import { configuredIn } from './edges/node/config-file.ts';
import { evmSettings } from './edges/evm/settings.ts';
import { gatewaySettings } from './edges/gateway/settings.ts';
import { indexerSettings } from './edges/indexer/settings.ts';
import { ledgerSettings } from './edges/ledger/settings.ts';
import { nodeSettings } from './edges/node/settings.ts';
import { type RoleName, roleNames, rolesUnasked } from './roles/names.ts';
import { hostPort } from './kit/net-address.ts';
import { type Setting, setting } from './kit/setting.ts';
import {
  addresses,
  host,
  network,
  oneOf,
  optionalPort,
  port,
  size,
  subnets,
  text,
  Unfit,
  url,
  whole,
} from './kit/setting-forms.ts';

function roleList(value: string): readonly RoleName[] | undefined {
  return value === '' ? undefined : value.split(',').map((word) => oneOf(...roleNames)(word.trim()));
}

const everyProcess = {
  roles: setting(
    'ROLES',
    '',
    roleList,
    `Parts that this process runs, separated by commas: ${roleNames.join(', ')}; unset: all on the local network, else all that a real one needs`,
  ),
  network: setting(
    'NETWORK',
    '',
    (value) => (value === '' ? undefined : network(value)),
    'Network profile; data of each network lie apart. Unset: main with CHAIN_API_BASE, else local',
  ),
  dataDir: setting('DATA_DIR', 'data', text, 'Folder of the embedded servers, one folder per network inside'),
  port: setting(
    'PORT',
    '18080',
    port,
    'Port of the indexing REST API and the start page; in a process that does not index, of /healthz, /readyz and /metrics',
  ),
  host: setting('HOST', '127.0.0.1', host, 'Address that every port is opened on'),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    '',
    subnets,
    'Addresses and subnets, separated by commas, of proxies whose X-Forwarded-For is believed where requests of one address are limited',
  ),
  logLevel: setting('LOG_LEVEL', 'info', oneOf('debug', 'info', 'warn', 'error'), 'Least level of the log lines'),
  logFormat: setting(
    'LOG_FORMAT',
    '',
    oneOf('pretty', 'json', ''),
    'Form of the log lines: pretty or json; unset: pretty on a terminal',
  ),
} as const;

const stores = {
  natsUrl: setting(
    'NATS_URL',
    '',
    addresses('nats:', 'tls:', 'ws:', 'wss:'),
    'External nats-server 2.12.1 or later with JetStream, or several separated by commas; unset: an embedded server',
    true,
  ),
  natsPort: setting('NATS_PORT', '4222', port, 'Port of the embedded nats-server, for subscribers'),
  natsWsPort: setting('NATS_WS_PORT', '4223', port, 'WebSocket port of the embedded nats-server, for subscribers'),
  natsMonitorUrl: setting(
    'NATS_MONITOR_URL',
    '',
    addresses('http:', 'https:'),
    'Monitoring address of the external nats-server, to read its durability from, or several separated by commas: the least counts',
  ),
  streamReplicas: setting(
    'STREAM_REPLICAS',
    '',
    (value) => (value === '' ? undefined : whole(1, 5)(value)),
    'Servers that keep a copy of each stream and bucket, 1 to 5; unset: as many as now, and for new ones 3 on a NATS cluster, else 1',
  ),
  streamMaxBytes: setting(
    'STREAM_MAX_SIZE',
    '',
    size,
    'Size at which each stream is full and takes no more facts, such as 500MiB or 20GiB, or unlimited; unset: as now, and for new ones unlimited',
  ),
  durability: setting(
    'DURABILITY',
    '',
    oneOf('strict', 'bounded', 'relaxed', ''),
    'Least durability of the log that is accepted: strict (fsync before every acknowledgement; what the embedded server does), bounded or relaxed',
  ),
  dbDsn: setting(
    'DB_DSN',
    '',
    url('postgres:', 'postgresql:'),
    'External PostgreSQL 13 or later; unset: an embedded server',
    true,
  ),
  pgPort: setting(
    'PG_PORT',
    '',
    optionalPort,
    'Opens the embedded PostgreSQL on this port of 127.0.0.1; unset: no port at all',
  ),
  postgresPassword: setting(
    'POSTGRES_PASSWORD',
    'postgres',
    text,
    'Password of the embedded PostgreSQL where PG_PORT opens it',
    true,
  ),
} as const;

/** Every setting there is, by what reads it: `--help`, the parser and docs/settings.md follow from this table alone. */
const settingGroups = {
  'Every process': everyProcess,
  'Stores of every process': stores,
  'Role indexer': indexerSettings,
  'Role auditor': auditorSettings,
  'Role ledger': ledgerSettings,
  'Role node': nodeSettings,
  'Role gateway': gatewaySettings,
  'Role evm': evmSettings,
} as const;

/** All settings by name. */
export const settings = {
  ...everyProcess,
  ...stores,
  ...indexerSettings,
  ...auditorSettings,
  ...ledgerSettings,
  ...nodeSettings,
  ...gatewaySettings,
  ...evmSettings,
} as const;

/** Where nothing is set, the local network is followed more closely: it is there to be watched. */
const localDefaults: Readonly<Partial<Record<keyof typeof settings, string>>> = {
  validatorsSyncIntervalMs: '1m',
  supernodesSyncIntervalMs: '20s',
  actionsSyncIntervalMs: '5s',
  probeIntervalMs: '15s',
};

type Settings = typeof settings;
type Parsed = { readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never };

/** What the environment says, with the defaults that depend on one another filled in. */
export type Config = Omit<Parsed, 'network' | 'probePrivateAddresses' | 'roles'> &
  Readonly<{
    network: Network;
    probePrivateAddresses: boolean;
    roles: readonly RoleName[];
    /** Whether `ROLES` named them. */
    areRolesNamed: boolean;
    /** Whether the local network runs and is what is indexed. */
    isLocal: boolean;
    /** Chain REST that is indexed; that of the local network where none is given, unless its port is 0. */
    chainUrl: string;
  }>;

/** Every problem of the configuration at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads all settings from an environment; pure, called once.
 *
 * Throws one `ConfigError` that lists every problem. Secrets never appear in it.
 *
 * @example parseConfig({ PORT: '8080' }).port // 8080
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const isLocal = !env[settings.chainApiBase.env];
  const read = (name: keyof Settings): unknown => {
    const { env: variable, default: fallback, parse, secret } = settings[name];
    const given = env[variable] ?? (isLocal ? localDefaults[name] : undefined) ?? fallback;
    try {
      return parse(given);
    } catch (caught) {
      if (!(caught instanceof Unfit)) throw caught;
      problems.push(`${variable} is ${secret ? 'not usable' : JSON.stringify(given)}; it takes ${caught.message}`);
      return undefined;
    }
  };
  const names = Object.keys(settings).filter((name): name is keyof Settings => Object.hasOwn(settings, name));
  const parsed = Object.fromEntries(names.map((name) => [name, read(name)])) as Parsed;
  if (parsed.cursorKey !== undefined && parsed.cursorKey.length < 16)
    problems.push('CURSOR_KEY is too short; it takes at least 16 characters');
  if ((parsed.grpcTlsCert === undefined) !== (parsed.grpcTlsKey === undefined))
    problems.push('GRPC_TLS_CERT and GRPC_TLS_KEY belong together; one of them is unset');
  if (parsed.grpcTlsClientCa !== undefined && parsed.grpcTlsCert === undefined)
    problems.push('GRPC_TLS_CLIENT_CA is set without GRPC_TLS_CERT');
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({
    ...parsed,
    isLocal,
    roles: parsed.roles ?? rolesUnasked({ isLocal, isSet: (variable) => Boolean(env[variable]) }),
    areRolesNamed: parsed.roles !== undefined,
    chainUrl: parsed.chainApiBase ?? `http://${hostPort(parsed.host, parsed.lcdPort)}`,
    network: parsed.network ?? network(isLocal ? 'local' : 'main'),
    probePrivateAddresses: parsed.probePrivateAddresses === '' ? isLocal : parsed.probePrivateAddresses === 'allow',
  });
}

/** The configuration of this process; the only place that reads its environment. */
export function configFromEnvironment(overrides: Readonly<Record<string, string | undefined>> = {}): Config {
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  const env = { ...process.env, ...given };
  return parseConfig({ ...configuredIn(env[settings.nodeConfig.env]), ...env });
}

/** All settings for people: what reads them, variable, default, meaning. */
export function settingRows(): { group: string; variable: string; default: string; meaning: string }[] {
  return Object.entries(settingGroups).flatMap(([group, table]) =>
    Object.values(table).map(({ env, default: fallback, meaning }) => ({
      group,
      variable: env,
      default: fallback,
      meaning,
    })),
  );
}
