import type { NatsConnection } from '@nats-io/transport-node';
import type pg from 'pg';
import type { StreamName, StreamPolicies } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import type { TaskContext } from '../../kit/threads/worker.ts';
import { connectNats } from '../log/connection.ts';
import { createLog } from '../log/log.ts';
import { createPools, type Pools } from '../models/pool.ts';
import { archivedStreams, bothStoresOf, currentState } from './archive.ts';
import type { Repairable, Repaired, StreamRepairOptions } from './repair.ts';
import { scrub } from './scrub.ts';
import {
  type Brakes,
  decide,
  findingOf,
  isDamaged,
  isStreamDamaged,
  type Observation,
  type ScrubReport,
  sentences,
  streamStates,
} from './states.ts';

/** Where both stores are, as plain data: a thread has connections of its own. */
export type StoresAccess = Readonly<{
  nats: Readonly<{ url: string; user?: string; pass?: string }>;
  postgres: pg.ClientConfig;
  network: string;
  policies: StreamPolicies;
  /** Of the network's data. */
  folder: string;
}>;

/** One comparison of a stream with its archive, and the repair that may follow it. */
type StreamTask = Readonly<{ access: StoresAccess; stream: StreamName }> & Omit<ExamineOptions, 'signal'>;

/** One comparison of a stream that an operator requested, and the repair of what it finds where that is wanted. */
type InspectionTask = Readonly<{ access: StoresAccess; stream: StreamName; isRepairing: boolean }>;

/** The result of a comparison that an operator requested: what is damaged, and what was repaired, in sentences. */
export type Inspection = Readonly<{
  events: number;
  position: number;
  damaged: boolean;
  findings: readonly string[];
  done: readonly string[];
}>;

/** One comparison of a read model with the log. */
type ModelTask = Readonly<{ access: StoresAccess; projection: string }>;

/** Compares a stream with its archive, drops what it has dropped, and repairs what may be repaired; see `examine`. */
export async function examineStream(
  { access, stream, ...options }: StreamTask,
  { signal }: TaskContext,
): Promise<Examination> {
  return await withStores(access, (stores) => examine(stores, stream, { ...options, signal }));
}

/** Compares a stream with its archive, and repairs either from the other where an operator wants that. */
export async function inspectStream(
  { access, stream, isRepairing }: InspectionTask,
  { signal, progress }: TaskContext<Readonly<{ done: number; total: number }>>,
): Promise<Inspection> {
  const onProgress = (done: number, total: number): void => progress({ done, total });
  return await withStores(access, async (stores) => {
    const { report, done } = isRepairing
      ? await repairStream(stores, stream, { signal, onProgress })
      : { report: await scrub(stores, stream, { signal, onProgress }), done: [] };
    const { events, position } = report;
    return { events, position, damaged: isDamaged(report), findings: sentences(report), done };
  });
}

/**
 * Compares a read model with its stream; returns the difference, in a sentence.
 *
 * Undefined where there is none, and where the stream itself is damaged: that is repaired first.
 */
export async function examineModel(
  { access, projection: name }: ModelTask,
  { signal }: TaskContext,
): Promise<string | undefined> {
  // Loaded here alone, so that a thread that compares a stream stays small.
  const [{ projections }, { checkModel, leftBehind }] = await Promise.all([
    import('../../projections/all.ts'),
    import('./models.ts'),
  ]);
  const projection = projections.find((one) => one.name === name);
  if (!projection) return undefined;
  return await withStores(access, async (stores) => {
    const models = { ...stores, pools: stores.store.pools };
    const differs = (await leftBehind(models, projection)) ?? (await checkModel(models, projection, signal));
    if (differs === undefined || isDamaged(await scrub(stores, projection.stream, { signal }))) return undefined;
    return differs;
  });
}

async function withStores<T>(
  { nats, postgres, network, policies, folder }: StoresAccess,
  use: (stores: Repairable) => Promise<T>,
): Promise<T> {
  const nc = await connectNats({ ...nats, name: `annals ${network} auditor` });
  const pools = createPools(postgres, { applicationName: `annals ${network} auditor` });
  try {
    return await use({ ...bothStoresOf(nc, { network, pools, policies }), source: createLog(nc, network), folder });
  } finally {
    await Promise.allSettled([nc.close(), pools.end()]);
  }
}

/** How a stream is examined; `before` is what was observed the last time, where that waits to be confirmed. */
export type ExamineOptions = Readonly<{
  signal: AbortSignal;
  perSecond?: number | undefined;
  before?: Observation | undefined;
  brakes: Brakes;
}>;

/** The findings and repairs of an examination; `again` where damage has to be observed a second time. */
export type Examination = Readonly<{
  state: ScrubReport['state'];
  findings: readonly string[];
  done: readonly string[];
  again: Readonly<{ afterMs: number; since: Observation }> | undefined;
}>;

/** What repairs is loaded when there is something to repair: a thread that only compares stays small. */
async function repairStream(stores: Repairable, stream: StreamName, options: StreamRepairOptions): Promise<Repaired> {
  const repairing = await import('./repair.ts');
  return await repairing.repairStream(stores, stream, options);
}

/**
 * Compares a stream with its archive, drops there what the stream has dropped, and repairs what may be repaired without
 * an operator.
 *
 * It repairs an archive at once, for that destroys nothing; a stream only as `decide` says. It records the findings.
 */
export async function examine(
  stores: Repairable,
  stream: StreamName,
  { signal, perSecond, before, brakes }: ExamineOptions,
): Promise<Examination> {
  const { store, policies } = stores;
  const report = await scrub(stores, stream, { signal, perSecond, isPruning: true });
  const findings = sentences(report);
  await store.recordScrub(stream, findings);
  const { state } = report;
  if (!isDamaged(report)) return { state, findings, done: [], again: undefined };
  if (!isStreamDamaged(report)) {
    const { done } = await repairStream(stores, stream, { signal });
    return { state, findings, done, again: undefined };
  }
  const head = await store.head(stream);
  const grounds = { policy: policies[stream], before, restoredMsAgo: head?.restoredMsAgo, brakes, now: Date.now() };
  const decision = decide(report, grounds);
  if (decision.kind === 'observe again') return { state, findings, done: [], again: decision };
  if (decision.kind === 'ask') {
    await store.recordScrub(stream, [...findings, decision.why]);
    return { state, findings: [...findings, decision.why], done: [], again: undefined };
  }
  const { done, isRestored } = await repairStream(stores, stream, { signal, expected: findingOf(report) });
  if (isRestored) await store.recordRestoration(stream);
  const changed = { afterMs: brakes.confirmAfterMs, since: { finding: findingOf(report), at: Date.now() } };
  return { state, findings, done, again: isRestored ? undefined : changed };
}

/** Options of the check of the log before the start. */
type StartOptions = Readonly<{ network: string; pools: Pools; folder: string; logger: Logger; signal: AbortSignal }>;

/**
 * Restores streams from the archive that the broker does not have any more, or only half restored, before any process
 * writes to them and before they are created empty. A repair that deletes something is left to the auditor.
 *
 * Does nothing where there is no archive. Fails when the archive cannot be read or the broker refuses the events.
 */
export async function restoreMissing(
  nc: NatsConnection,
  { network, pools, folder, logger, signal }: StartOptions,
): Promise<void> {
  const stores = { ...bothStoresOf(nc, { network, pools }), source: createLog(nc, network), folder };
  for (const stream of archivedStreams(stores)) {
    const { state } = await currentState(stores, stream);
    const isForUs = stores.policies[stream].restore === 'itself' && streamStates[state].repair === 'nothing more';
    if (!isForUs) continue;
    logger.warn({ stream, state }, 'the broker has lost events; restoring them from the archive');
    const { report, done } = await repairStream(stores, stream, { signal });
    logger.warn({ stream, findings: sentences(report), done }, 'a store was repaired');
  }
}
