import { setting } from '../../kit/setting.ts';
import { duration, whole } from '../../kit/setting-forms.ts';

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
    whole(1, 1_000_000),
    'Events of each stream compared in a second at most: a stream of 150,000 is gone through in half a minute',
  ),
} as const;
