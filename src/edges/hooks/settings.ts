import { setting } from '../../kit/setting.ts';
import { duration, Unfit } from '../../kit/setting-forms.ts';

const mostRetries = 20;

/** Pauses before further attempts, in milliseconds. */
function pauses(value: string): readonly number[] {
  const words = value.trim().split(/\s+/);
  if (value.trim() === '' || words.length > mostRetries)
    throw new Unfit(`1 to ${mostRetries} durations separated by blanks, such as 5s 5m 30m`);
  return words.map(duration);
}

/** Settings of webhooks. */
export const hookSettings = {
  hookRetries: setting(
    'HOOK_RETRIES',
    '5s 5m 30m 2h 5h 10h 14h 20h 24h',
    pauses,
    'Pauses before further attempts to deliver an event to a webhook, separated by blanks; a hook is disabled once the last attempt has failed',
  ),
} as const;
