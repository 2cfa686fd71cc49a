import type { Cascade } from '../cascade/cascade.ts';
import { hostPort } from '../../../kit/net-address.ts';
import type { Processor } from '../machine/processor.ts';
import type { GiveStatus } from '../services.ts';
import { followChain, type OnChain, type ViewOptions } from './chain-view.ts';
import { collectP2pMetrics, type MeasuredCascade } from './p2p-metrics.ts';
import { readResources } from './resources.ts';
import { createSnapshot, usualAges } from './snapshot.ts';
import { statusOf } from './status.ts';

/**
 * However many requests come, a node reads its machine once a second. A request soon after another does not wait for
 * that; a rare one waits some milliseconds, and does not get the figures of the request before.
 */
const resourceAges = { freshMs: 1000, lastGoodMs: 2000, firstMs: 8000 } as const;

/** The sources of a node's status. */
export type StatusOptions = ViewOptions &
  Readonly<{
    host: string;
    folder: string;
    version: string;
    processor: () => Promise<Processor>;
    snapshotMs: number;
    /** Its files and peers; undefined for a node that takes none. */
    files: (MeasuredCascade & Pick<Cascade, 'tasks'>) | undefined;
  }>;

/**
 * Starts to follow the sources of a node's status, until the signal aborts, and returns the functions that report it.
 */
export function statusGiver(options: StatusOptions): Readonly<{ giveStatus: GiveStatus; onChain: () => OnChain }> {
  const { host, grpcPort, folder, version, processor, snapshotMs: freshMs } = options;
  const onChain = followChain(options);
  const sources = {
    version,
    startedAtMs: performance.now(),
    configuredAddress: () => hostPort(host, grpcPort()),
    resources: createSnapshot(() => readResources(folder, processor), resourceAges),
    onChain,
    files: options.files,
    p2pMetrics: createSnapshot(() => collectP2pMetrics(folder, options.files), { freshMs, ...usualAges }),
  };
  return { giveStatus: async (withP2pMetrics) => await statusOf(sources, withP2pMetrics), onChain };
}
