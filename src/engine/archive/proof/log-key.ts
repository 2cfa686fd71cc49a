import { randomBytes } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { knownSecret, replaceSecret, restoreSecret, sharedSecret } from '../../log/secrets.ts';
import { isSame } from '../chain.ts';
import type { Checkpoints, Signed } from './checkpoints.ts';
import { sha256 } from './merkle.ts';
import { publicKeyOf } from './notes.ts';
import type { LogKey, CheckpointSigning } from './signing.ts';

/** Where the key comes from, and what origins begin with, as far as it is set. */
export type KeySettings = Readonly<{ logKey: string | undefined; logOrigin: string | undefined }>;

const secretName = 'log';
const originDigits = 16;
const seedBytes = 32;

/**
 * The key that signs checkpoints: the one that is set, or a secret that lies beside the log and in the database, so
 * that the loss of either leaves it.
 *
 * It is made only where nothing was ever signed. Where the two differ, the one that signed before counts.
 */
export function findingKey(
  nc: NatsConnection,
  network: string,
  { checkpoints, settings }: Readonly<{ checkpoints: Checkpoints; settings: KeySettings }>,
): CheckpointSigning['key'] {
  const keyOf = (seed: Uint8Array): LogKey => ({ seed, origin: settings.logOrigin ?? defaultOrigin(seed) });
  return async (known) => {
    if (settings.logKey !== undefined) return keyOf(Buffer.from(settings.logKey, 'hex'));
    const [inLog, inDatabase] = await Promise.all([knownSecret(nc, network, secretName), checkpoints.seed()]);
    if (inLog && inDatabase) {
      const isEither = isSame(inLog, inDatabase) || !isSigner(inDatabase, known);
      return keyOf(isEither ? inLog : inDatabase);
    }
    const one = inLog ?? inDatabase;
    if (one === undefined && known.length > 0)
      return 'The key that signed checkpoints before is gone: set LOG_KEY to it, or begin anew under another one (annals rekey).';
    const seed = one
      ? await restoreSecret(nc, network, { name: secretName, secret: one })
      : await sharedSecret(nc, network, secretName);
    await checkpoints.keepSeed(seed);
    return keyOf(seed);
  };
}

/** Puts a new key in the place of the one that lies in both stores; the one that is set, if one is, is not changed. */
export async function replaceKey(nc: NatsConnection, network: string, checkpoints: Checkpoints): Promise<void> {
  const seed = randomBytes(seedBytes);
  await checkpoints.replaceSeed(seed);
  await replaceSecret(nc, network, { name: secretName, secret: seed });
}

function isSigner(seed: Uint8Array, known: readonly Signed[]): boolean {
  const publicKey = Buffer.from(publicKeyOf(seed)).toString('base64');
  return known.some(
    ({ vkey }) =>
      Buffer.from(vkey.split('+')[2] ?? '', 'base64')
        .subarray(1)
        .toString('base64') === publicKey,
  );
}

/** A name that follows from the key alone: a machine of one's own has no stable one. */
function defaultOrigin(seed: Uint8Array): string {
  return `annals-${Buffer.from(sha256(publicKeyOf(seed)))
    .toString('hex')
    .slice(0, originDigits)}`;
}
