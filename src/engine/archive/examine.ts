import type { NatsConnection } from '@nats-io/transport-node';
import type { StreamName } from '../../events/streams.ts';
import type { Logger } from '../../kit/logger.ts';
import { createLog } from '../log/log.ts';
import type { Pools } from '../models/pool.ts';
import { archivedStreams, bothStoresOf, stateOf } from './archive.ts';
import { type Brakes, decide, findingOf, type Observation } from './policy.ts';
import type { Repairable, Repaired, RepairOptions } from './repair.ts';
import { isDamaged, isStreamDamaged, type ScrubReport, sentences, streamStates } from './report.ts';
import { scrub } from './scrub.ts';

/** How a stream is examined; `before` is what was observed the last time, where that waits to be confirmed. */
export type ExamineOptions = Readonly<{
  signal: AbortSignal;
  perSecond?: number | undefined;
  before?: Observation | undefined;
  brakes: Brakes;
}>;

/** What an examination found and did; `again` where damage is to be observed a second time. */
export type Examination = Readonly<{
  state: ScrubReport['state'];
  findings: readonly string[];
  done: readonly string[];
  again: Readonly<{ afterMs: number; since: Observation }> | undefined;
}>;

/** What repairs is loaded when there is something to repair: a thread that only compares stays small. */
async function repairStream(stores: Repairable, stream: StreamName, options: RepairOptions): Promise<Repaired> {
  const repairing = await import('./repair.ts');
  return await repairing.repairStream(stores, stream, options);
}

/**
 * Compares a stream with its archive, drops there what the stream has dropped, and repairs what may be repaired without
 * an operator.
 *
 * An archive is repaired at once, for that destroys nothing; a stream only as `decide` says. What was found is
 * recorded.
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

/** What a look at the log before the start takes. */
type StartOptions = Readonly<{ network: string; pools: Pools; logger: Logger; signal: AbortSignal }>;

/**
 * Brings streams back from the archive that the broker does not have any more, or only half restored, before anybody
 * writes to them and before they are made empty. What deletes something is for the auditor.
 *
 * Does nothing where there is no archive. Fails when the archive cannot be read or the broker does not take the events.
 */
export async function restoreMissing(
  nc: NatsConnection,
  { network, pools, logger, signal }: StartOptions,
): Promise<void> {
  const stores = { ...bothStoresOf(nc, { network, pools }), source: createLog(nc, network) };
  for (const stream of archivedStreams(stores)) {
    const head = await stores.store.head(stream);
    const state = head ? await stateOf(stores, stream, head) : 'whole';
    const isForUs = stores.policies[stream].restore === 'itself' && streamStates[state].repair === 'nothing more';
    if (!isForUs) continue;
    logger.warn({ stream, state }, 'the broker has lost events; restoring them from the archive');
    const { report, done } = await repairStream(stores, stream, { signal });
    logger.warn({ stream, findings: sentences(report), done }, 'a store was repaired');
  }
}
