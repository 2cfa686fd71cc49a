import type { NatsConnection } from '@nats-io/transport-node';
import { isProven, type StreamName, type StreamPolicies } from '../../../events/streams.ts';
import { AppError } from '../../../kit/errors.ts';
import type { CheckpointMemory, Checkpoints, StoredTree } from './checkpoints.ts';
import { replaceKey } from './log-key.ts';
import { emptyRoot } from './merkle.ts';

/** What a new key takes; `isKeySet` where LOG_KEY names one, which then is the new one. */
export type Rekeying = Readonly<{
  nc: NatsConnection;
  network: string;
  policies: StreamPolicies;
  checkpoints: Checkpoints;
  memory: CheckpointMemory;
  isKeySet: boolean;
}>;

const mostTries = 5;

/**
 * Begins every log under a new key and a new origin, of its next epoch: whoever trusts the old key has to be given the
 * new one. Returns the streams.
 *
 * What was signed before stays as it was; nothing is signed until the process that keeps the archive looks again.
 * Repeating it begins one more epoch.
 */
export async function rekey(rekeying: Rekeying): Promise<readonly StreamName[]> {
  const { nc, network, policies, checkpoints, isKeySet } = rekeying;
  const trees = (await checkpoints.trees()).filter(({ stream }) => policies[stream] && isProven(policies[stream]));
  for (const tree of trees) await startEpoch(rekeying, tree);
  if (!isKeySet) await replaceKey(nc, network, checkpoints);
  return trees.map(({ stream }) => stream);
}

/** Remembers an epoch without a checkpoint, so that no earlier one has to be extended. */
async function startEpoch({ checkpoints, memory }: Rekeying, { stream, incarnation }: StoredTree): Promise<void> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { signed, revision } = await memory.read(stream);
    const known = [...(await checkpoints.last()).filter((one) => one.stream === stream), ...(signed ? [signed] : [])];
    const last = Math.max(1, ...known.filter((one) => one.incarnation === incarnation).map(({ epoch }) => epoch));
    const next = { incarnation, epoch: last + 1, origin: '', vkey: '', size: 0, root: emptyRoot };
    if (await memory.write(stream, next, revision)) return;
  }
  throw new AppError('CONFLICT', `Checkpoints of ${stream} are being signed at this very moment; repeat the command`);
}
