import { randomBytes } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import { wait } from '../../kit/wait.ts';
import { AppError } from '../../kit/errors.ts';
import { openBucket } from './bucket.ts';
import { refusedWith } from './breaks.ts';

const secretBytes = 32;
const waitMs = 50;
/** A bucket that was just made on a cluster does not answer before its copies have elected a leader. */
const withinMs = 20_000;

/**
 * A secret that all processes of a network share: 32 random bytes, created once and stored beside the log for as long
 * as that is sound.
 *
 * The first caller creates it; callers that race agree.
 */
export async function sharedSecret(nc: NatsConnection, network: string, name: string): Promise<Uint8Array> {
  let bucket: KV | undefined;
  let cause: unknown;
  for (const deadline = performance.now() + withinMs; performance.now() < deadline;) {
    try {
      bucket ??= await openBucket(nc, network, `annals-secrets_${network}`);
      const secret = (await read(bucket, name)) ?? (await create(bucket, name));
      if (secret) return secret;
      // Another one has just created it, and the replica that answers reads may not have it yet.
    } catch (caught) {
      cause = caught;
      // A damaged one is made anew.
      bucket = undefined;
    }
    await wait(waitMs);
  }
  throw new AppError('UNAVAILABLE', `Secret ${name} of ${network} can neither be read nor created`, { cause });
}

/** A shared secret as it is now; undefined where there is none. Fails while the broker does not answer. */
export async function knownSecret(nc: NatsConnection, network: string, name: string): Promise<Uint8Array | undefined> {
  return await read(await openBucket(nc, network, `annals-secrets_${network}`), name);
}

/** Puts a secret where there is none, such as one that another store has; gives back the one that is there then. */
export async function restoreSecret(
  nc: NatsConnection,
  network: string,
  { name, secret }: Readonly<{ name: string; secret: Uint8Array }>,
): Promise<Uint8Array> {
  const bucket = await openBucket(nc, network, `annals-secrets_${network}`);
  return (await create(bucket, name, secret)) ?? (await sharedSecret(nc, network, name));
}

/** Puts another secret in the place of the one that is there; processes that hold the old one go on with it. */
export async function replaceSecret(
  nc: NatsConnection,
  network: string,
  { name, secret }: Readonly<{ name: string; secret: Uint8Array }>,
): Promise<void> {
  await (await openBucket(nc, network, `annals-secrets_${network}`)).put(name, secret);
}

async function read(bucket: KV, name: string): Promise<Uint8Array | undefined> {
  const entry = await bucket.get(name);
  return entry?.operation === 'PUT' ? Uint8Array.from(entry.value) : undefined;
}

/** Undefined where another process was first. */
async function create(
  bucket: KV,
  name: string,
  secret: Uint8Array = Uint8Array.from(randomBytes(secretBytes)),
): Promise<Uint8Array | undefined> {
  try {
    await bucket.create(name, secret);
    return secret;
  } catch (caught) {
    if (refusedWith(caught, 'wrongLastSequence')) return undefined;
    throw caught;
  }
}
