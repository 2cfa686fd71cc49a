import { setting } from '../../kit/setting.ts';
import { duration, Unfit, complete } from '../../kit/setting-forms.ts';
import { parseWitnesses } from './proof/witnesses.ts';

/** Settings of the auditor: how often, and how fast, everything is compared. */
export const auditorSettings = {
  scrubIntervalMs: setting(
    'SCRUB_INTERVAL',
    '24h',
    duration,
    'Time between two comparisons of the log with its archive, and of the read models with the log',
  ),
  scrubPerSecond: setting(
    'SCRUB_RATE',
    '5000',
    complete(1, 1_000_000),
    'Events of each stream compared in a second at most: a stream of 150,000 is gone through in half a minute',
  ),
} as const;

/** Settings of whoever keeps the archive: how its events are proven. */
export const proofSettings = {
  checkpointIntervalMs: setting(
    'CHECKPOINT_INTERVAL',
    '5s',
    (value) => (value === 'off' ? undefined : duration(value)),
    'Time between two signed checkpoints of a log that grows, or off',
  ),
  logKey: setting(
    'LOG_KEY',
    '',
    (value) => (value === '' ? undefined : seed(value)),
    'Ed25519 key that signs checkpoints, 64 hex digits; unset: one kept beside the log and in the database',
    true,
  ),
  logOrigin: setting(
    'LOG_ORIGIN',
    '',
    (value) => (value === '' ? undefined : origin(value)),
    'What the names of the logs begin with, such as a host name; unset: annals- and digits of the key',
  ),
  witnesses: setting(
    'WITNESSES',
    '',
    parseWitnesses,
    'Witnesses that sign each checkpoint too, separated by commas: key and address of each (C2SP tlog-witness)',
  ),
} as const;

function seed(value: string): string {
  if (!/^[\da-f]{64}$/i.test(value)) throw new Unfit('64 hex digits');
  return value;
}

function origin(value: string): string {
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(value))
    throw new Unfit('letters, digits, dots and dashes, such as logs.example.org');
  return value;
}
