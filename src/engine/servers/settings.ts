import { type Parsed, setting } from '../../kit/setting.ts';
import { addresses, oneOf, optionalPort, port, size, text, url, complete } from '../../kit/setting-forms.ts';

/** Settings of the stores: which servers hold log and read models, where, and how durably. */
export const storeSettings = {
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
    (value) => (value === '' ? undefined : complete(1, 5)(value)),
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

/** The settings of a process's stores, and the folder of its network's data. */
export type StoreConfig = Parsed<typeof storeSettings> & Readonly<{ dataDir: string; network: string; host: string }>;
