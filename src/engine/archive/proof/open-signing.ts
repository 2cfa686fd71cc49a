import type { Parsed } from '../../../kit/setting.ts';
import type { proofSettings } from '../settings.ts';
import type { Logger } from '../../../kit/logger.ts';
import { metaSchema } from '../../models/engine/generations.ts';
import type { BothStores } from '../archive.ts';
import { throughPool } from '../../models/pool.ts';
import { createCheckpoints, createMemory } from './checkpoints.ts';
import { findingKey } from './log-key.ts';
import { onSigningRequest } from './sign-now.ts';
import type { CheckpointSigning } from './signing.ts';
import { createWitnesses } from './witnesses.ts';

/** The settings of proofs. */
export type ProofSettings = Parsed<typeof proofSettings>;

/** What signs the checkpoints of both stores; undefined where that is switched off. */
export function signingOf(
  { nc, network, policies, store }: BothStores,
  { config, log }: Readonly<{ config: ProofSettings; log: Logger }>,
): CheckpointSigning | undefined {
  const { checkpointIntervalMs: intervalMs } = config;
  if (intervalMs === undefined) return undefined;
  const checkpoints = createCheckpoints(throughPool(store.pools.archive), metaSchema(network));
  return {
    network,
    policies,
    trees: store.trees,
    checkpoints,
    memory: createMemory(nc, network),
    witnesses: config.witnesses,
    cosign: createWitnesses(),
    key: findingKey(nc, network, { checkpoints, settings: config }),
    log,
    intervalMs,
    onRequest: (listener) => onSigningRequest(nc, network, listener),
  };
}
