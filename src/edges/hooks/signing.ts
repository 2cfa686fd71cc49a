import { createHmac, hash, sign } from 'node:crypto';
import type { KnownHook } from '../../commands/hooks/hook-state.ts';
import { privateKeyOf, publicKeyOf } from '../../engine/archive/proof/notes.ts';

/** The key that all secrets and the signing key of a network follow from; it lies beside the log, and in no event. */
export type HookKey = Uint8Array;

const fingerprintDigits = 16;
const secretPrefix = 'whsec_';
const publicKeyPrefix = 'whpk_';

/** Name of that key beside the log. */
export const hookKeyName = 'hooks';

/** Distinguishes a key from another one without showing it. */
export function fingerprintOf(key: HookKey): string {
  return hash('sha256', Buffer.from(key), 'hex').slice(0, fingerprintDigits);
}

/** The name of a network by which its receivers are asked, unless it is given one. */
export const senderNameOf = (key: HookKey): string => `annals-${fingerprintOf(key)}`;

/** A secret of a hook as Standard Webhooks writes it: 32 bytes that follow from the key, the hook and a number. */
export function secretOf(key: HookKey, hook: string, number: number): string {
  return `${secretPrefix}${createHmac('sha256', key).update(`${hook}/${number}`).digest('base64')}`;
}

/** The secrets that sign at a moment: the one in force, and for a while after a rotation the one before. */
export function secretsOf(
  key: HookKey,
  hook: string,
  { secret, previousUntil, at }: Pick<KnownHook, 'secret' | 'previousUntil'> & Readonly<{ at: number }>,
): string[] {
  const isPreviousUsed = previousUntil !== undefined && at < Date.parse(previousUntil);
  return [secret, ...(isPreviousUsed ? [secret - 1] : [])].map((number) => secretOf(key, hook, number));
}

/** A message to be signed; `timestamp` is in seconds since 1970. */
export type SignedMessage = Readonly<{ id: string; timestamp: number; body: Uint8Array }>;

/** The seed of the Ed25519 key that signs for all hooks of a network. */
function seedOf(key: HookKey): Uint8Array {
  return createHmac('sha256', key).update('ed25519').digest();
}

/** The public key of a network's deliveries, as Standard Webhooks writes it. */
export function verifyingKeyOf(key: HookKey): string {
  return publicKeyPrefix + Buffer.from(publicKeyOf(seedOf(key))).toString('base64');
}

/** The three headers of Standard Webhooks, with one signature for each secret (`v1`) and one for everybody (`v1a`). */
export function signedHeaders(
  { id, timestamp, body }: SignedMessage,
  { key, secrets }: Readonly<{ key: HookKey; secrets: readonly string[] }>,
): Record<string, string> {
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const symmetric = secrets.map((secret) => {
    const bytes = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', bytes).update(content).digest('base64')}`;
  });
  const signatures = [...symmetric, `v1a,${sign(null, content, privateKeyOf(seedOf(key))).toString('base64')}`];
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
