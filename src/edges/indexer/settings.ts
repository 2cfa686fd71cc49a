import { setting } from '../../kit/setting.ts';
import { duration, oneOf, optional, origins, url } from '../../kit/setting-forms.ts';
import { hookSettings } from '../hooks/settings.ts';

/** Settings of the indexer: the chain that it follows, its rounds, its REST, webhooks. */
export const indexerSettings = {
  chainApiBase: setting(
    'CHAIN_API_BASE',
    '',
    url('http:', 'https:'),
    'Chain REST (LCD) endpoint to index; unset: a local network is started and indexed',
  ),
  corsAllowOrigins: setting('CORS_ALLOW_ORIGINS', '*', origins, 'Allowed CORS origins, separated by commas'),
  validatorsSyncIntervalMs: setting(
    'VALIDATORS_SYNC_INTERVAL',
    '5m',
    duration,
    'Time between syncs of validators; 1m on the local network where unset',
  ),
  supernodesSyncIntervalMs: setting(
    'SUPERNODES_SYNC_INTERVAL',
    '2m',
    duration,
    'Time between syncs of SuperNodes; 20s on the local network where unset',
  ),
  actionsSyncIntervalMs: setting(
    'ACTIONS_SYNC_INTERVAL',
    '30s',
    duration,
    'Time between syncs of actions; 5s on the local network where unset',
  ),
  probeIntervalMs: setting(
    'PROBE_INTERVAL',
    '1m',
    duration,
    'Time between probes of a SuperNode; 15s on the local network where unset',
  ),
  probePrivateAddresses: setting(
    'PROBE_PRIVATE_ADDRESSES',
    '',
    oneOf('allow', 'deny', ''),
    'Whether SuperNodes at loopback and private addresses are probed, and dialled by the gateway, and webhooks at such are sent to: allow or deny; unset: deny, and allow on the local network',
  ),
  probeHostNames: setting(
    'PROBE_HOST_NAMES',
    'deny',
    (value) => oneOf('allow', 'deny')(value) === 'allow',
    'Whether host names of SuperNodes are resolved and probed, and dialled by the gateway: allow or deny',
  ),
  allowManualSync: setting(
    'ALLOW_MANUAL_SYNC',
    'false',
    (value) => oneOf('true', 'false')(value) === 'true',
    'Whether POST /v1/supernodes/sync is answered',
  ),
  syncToken: setting('SYNC_TOKEN', '', optional, 'Bearer token that POST /v1/supernodes/sync then needs', true),
  cursorKey: setting(
    'CURSOR_KEY',
    '',
    optional,
    'Secret that seals cursors, at least 16 characters; unset: one kept beside the log',
    true,
  ),
  ...hookSettings,
} as const;
