import { setting } from '../../kit/setting.ts';
import { duration, oneOf, Unfit } from '../../kit/setting-forms.ts';

const mostRetries = 20;

/** Pauses before further attempts, in milliseconds. */
function pauses(value: string): readonly number[] {
  const words = value.trim().split(/\s+/);
  if (value.trim() === '' || words.length > mostRetries)
    throw new Unfit(`1 to ${mostRetries} durations separated by blanks, such as 5s 5m 30m`);
  return words.map(duration);
}

function hostName(value: string): string | undefined {
  if (value === '') return undefined;
  if (value.length > 253 || !/^[a-z\d-]{1,63}(\.[a-z\d-]{1,63})*$/i.test(value))
    throw new Unfit('a name such as annals.example.org');
  return value;
}

/** Settings of webhooks. */
export const hookSettings = {
  hookRetries: setting(
    'HOOK_RETRIES',
    '5s 5m 30m 2h 5h 10h 14h 20h 24h',
    pauses,
    'Pauses before further attempts to deliver an event to a webhook, separated by blanks; a hook is disabled once the last attempt has failed',
  ),
  hookOrigin: setting(
    'HOOK_ORIGIN',
    '',
    hostName,
    'Name by which receivers of webhooks are asked whether they expect deliveries, such as a host name; unset: annals- and digits of the key',
  ),
  hookConsent: setting(
    'HOOK_CONSENT',
    'asked',
    oneOf('asked', 'required'),
    'Whether a receiver that does not answer that question is sent to all the same: asked; or required',
  ),
} as const;
