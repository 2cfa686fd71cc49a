import { type Network, parseNetwork } from './events/ids.ts';
import { adminSettings } from './edges/admin/settings.ts';
import { setting } from './kit/setting.ts';
import { host, oneOf, port, subnets, text, Unfit } from './kit/setting-forms.ts';
import { tracingSettings } from './kit/tracing/settings.ts';
import { type RoleName, roleNames } from './role-names.ts';

function roleList(value: string): readonly RoleName[] | undefined {
  return value === '' ? undefined : value.split(',').map((word) => oneOf(...roleNames)(word.trim()));
}

/** Settings of every process: which roles it runs, on which network, and how it shows itself. */
export const processSettings = {
  roles: setting(
    'ROLES',
    '',
    roleList,
    `Parts that this process runs, separated by commas: ${roleNames.join(', ')}; unset: all on the local network, else all that a real one needs`,
  ),
  network: setting(
    'NETWORK',
    '',
    (value) => (value === '' ? undefined : networkName(value)),
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
  ...tracingSettings,
  ...adminSettings,
} as const;

/** The name of a network; fails with `Unfit`. */
export function networkName(value: string): Network {
  const name = parseNetwork(value);
  if (name === undefined) throw new Unfit('lower-case letters, digits and _, a letter first, at most 31 characters');
  return name;
}
