import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type StreamName, type StreamPolicies, streamTable } from '../../../src/events/streams.ts';
import type { ClientConfig } from 'pg';
import { type BothStores, bothStoresOf, keepArchive } from '../../../src/engine/archive/archive.ts';
import { runAuditor } from '../../../src/engine/archive/auditor.ts';
import type { Brakes } from '../../../src/engine/archive/states.ts';
import { signingOf } from '../../../src/engine/archive/proof/open-signing.ts';
import type { CheckpointSigning } from '../../../src/engine/archive/proof/signing.ts';
import type { Witness } from '../../../src/engine/archive/proof/witnesses.ts';
import { createLeases } from '../../../src/engine/log/leases.ts';
import type { Log } from '../../../src/engine/log/log.ts';
import { rebuildingInWorker } from '../../../src/engine/models/build/rebuild-in-worker.ts';
import { migrate } from '../../../src/engine/models/migrate.ts';
import { until } from '../../support/polling.ts';
import { freshLog } from '../log/fresh-log.ts';
import { databaseOf, silent } from '../models/engine.ts';
import { freshDatabase, testNats } from '../../support/programs/servers.ts';

/** Both stores of a network of its own, and what is said with them. */
export type Kept = BothStores &
  Readonly<{
    log: Log;
    source: Log;
    folder: string;
    postgres: ClientConfig;
    /** What signs checkpoints of the streams' trees, each 50 ms. */
    signing: CheckpointSigning;
    /** Keeps the archive until it is stopped. */
    start: () => { stop: () => Promise<void> };
    /** Audits both stores until the test ends. */
    audit: () => void;
  }>;

type Keeping = Readonly<{
  scrubIntervalMs?: number;
  policies?: StreamPolicies;
  witnesses?: readonly Witness[];
  brakes?: Brakes;
  /** Where the broker is reached, if not directly. */
  nats?: Readonly<{ url: string; user?: string; pass?: string }>;
}>;

/** So short that a test need not wait for it. */
const shortBrakes: Brakes = { confirmAfterMs: 200, restoreEachMs: 3_600_000 };

/** Opens a log and an archive beside it. */
export async function keptLog({
  scrubIntervalMs = 3_600_000,
  policies = streamTable,
  brakes = shortBrakes,
  witnesses = [],
  nats = testNats(),
}: Keeping = {}): Promise<Kept> {
  const { nc, network, log } = await freshLog({ policies }, nats);
  const { pools, config: postgres } = databaseOf(await freshDatabase(), network);
  await migrate({ pools, network });
  const stores = bothStoresOf(nc, { network, pools, policies });
  const config = { checkpointIntervalMs: 50, logKey: undefined, logOrigin: undefined, witnesses };
  const signing = signingOf(stores, { config, log: silent });
  if (!signing) throw new Error('nothing signs');
  const leases = createLeases(nc, network, { ttlMs: 1000 });
  const common = { ...stores, leases, log: silent, scrubIntervalMs, scrubPerSecond: 100_000 };
  const folder = await mkdtemp(path.join(tmpdir(), 'annals-kept-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const access = { nats: { ...testNats(), ...nats }, postgres, network, policies, folder };
  const rebuild = rebuildingInWorker({ ...access, pools, source: log });
  const begin = (run: (signal: AbortSignal) => Promise<void>) => {
    const ending = new AbortController();
    const running = run(ending.signal);
    const stop = async (): Promise<void> => {
      ending.abort();
      await running;
    };
    onTestFinished(stop);
    return { stop };
  };
  return {
    ...stores,
    log,
    source: log,
    folder,
    postgres,
    signing,
    start: () => begin((signal) => keepArchive({ ...common, signing, signal })),
    audit: () => void begin((signal) => runAuditor({ ...common, access, rebuild, brakes, signal })),
  };
}

/** Waits until the archive holds all that a stream holds now. */
export async function untilArchived({ store, log }: Kept, stream: StreamName): Promise<void> {
  const { lastSequence } = await log.head(stream);
  await until(`${stream} is archived`, async () => ((await store.head(stream))?.position ?? 0) >= lastSequence, 15_000);
}
