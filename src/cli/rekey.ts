import { streamTable } from '../events/streams.ts';
import { createCheckpoints, createMemory } from '../engine/archive/proof/checkpoints.ts';
import { rekey as rekeyLogs } from '../engine/archive/proof/rekey.ts';
import { metaSchema } from '../engine/models/engine/generations.ts';
import { throughPool } from '../engine/models/pool.ts';
import { AppError } from '../kit/errors.ts';
import { configFromEnvironment } from '../config.ts';
import { findAdmin, recorded } from './admin-client.ts';
import { print } from './output.ts';
import { withStores } from './stores.ts';

/**
 * `annals rekey`: begins every log under a new key and origin. Refuses without `yes`: whoever verifies the logs has to
 * be given the new key.
 */
export async function rekey({ json, yes = false }: { json: boolean; yes?: boolean }): Promise<void> {
  if (!yes)
    throw new AppError(
      'INVALID_ARGUMENT',
      'Every log begins anew under another key, and whoever verifies them needs that key (/v1/logs): repeat with --yes',
    );
  const config = configFromEnvironment();
  await withStores(config, 'rekey', async ({ instance, connection: nc, network, pools }) => {
    const admin = await findAdmin(instance, config);
    const work = async () => ({
      streams: await rekeyLogs({
        nc,
        network,
        policies: streamTable,
        checkpoints: createCheckpoints(throughPool(pools.archive), metaSchema(network)),
        memory: createMemory(nc, network),
        isKeySet: config.logKey !== undefined,
      }),
    });
    const { streams } = await recorded(
      admin,
      { act: 'rekey', target: 'logs' },
      { signal: new AbortController().signal, work },
    );
    const human = (): string =>
      `${streams.length} logs begin anew with their next checkpoints; /v1/logs has their keys then.`;
    print({ streams }, { json, human });
  });
}
