import { finishArchive, runArchive } from '../audit/run-archive.ts';
import { projections } from '../../projections/all.ts';
import { runSync } from '../indexer/chain/run-sync.ts';
import type { Progress } from '../indexer/chain/progress.ts';
import { runLedger } from '../ledger/run-ledger.ts';
import { localBeginning } from '../local-network/beginning.ts';
import { startLocalNetwork } from '../local-network/local-network.ts';
import { checkHandlers, runProjector } from '../models/engine/projector.ts';
import { runProbing } from '../indexer/probe/rounds.ts';
import type { Context } from './context.ts';

/** A role that runs: where it can be reached, when it failed, how it is stopped. */
export type Part = Readonly<{
  name: string;
  urls: Readonly<Record<string, string>>;
  /** Rejects when the role cannot go on; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

const never = new Promise<never>(() => undefined);

/** The local network: its chain, its SuperNodes, and what happens there. */
export async function startLedger({ config, broker, logger, signal }: Context): Promise<Part> {
  const { log, leases } = broker;
  const { localSeed: seed, localSubnet: subnet } = config;
  const ledger = await runLedger({
    log,
    leases,
    beginning: () => localBeginning(seed, Date.now(), subnet),
    host: config.host,
    lcdPort: config.lcdPort,
    logger,
    signal,
  });
  const network = await startLocalNetwork({ ledger, seed, subnet, logger, signal }).catch(async (caught: unknown) => {
    await ledger.stop();
    throw caught;
  });
  const stop = async (): Promise<void> => {
    await network.stop();
    await ledger.stop();
  };
  return { name: 'local network', urls: { chain: ledger.url }, failed: never, stop };
}

/**
 * Every projection and the archive, each kept by one process at a time; fails when a projection was changed without a new version.
 *
 * Ends only when it is stopped, after everybody who writes: what was written last is archived before.
 */
export async function startProjector(context: Context): Promise<Part> {
  const { pools, broker, network, logger } = context;
  const { log: source, leases } = broker;
  const { onBatchRefused: onRefused } = context.leadership;
  await context.onSoundDatabase(() => checkHandlers({ pools, network, projections }));
  const part = running('projector', undefined, async (ending) => {
    const archive = runArchive(context, ending);
    await runProjector({ pools, source, leases, projections, network, onRefused, log: logger, signal: ending });
    await archive;
  });
  const stop = async (): Promise<void> => {
    await finishArchive(context);
    await part.stop();
  };
  return { ...part, stop };
}

/** Rounds of sync over a chain's REST, as long as this process holds their lease. */
export async function startSync({ config, profile, broker, logger, signal }: Context, chainUrl: string): Promise<Part> {
  const { log, leases } = broker;
  return running('sync', signal, (ending) =>
    runSync({
      chainApiBase: chainUrl,
      profile,
      log,
      leases,
      intervalsMs: {
        actions: config.actionsSyncIntervalMs,
        supernodes: config.supernodesSyncIntervalMs,
        validators: config.validatorsSyncIntervalMs,
      },
      logger,
      signal: ending,
      onProgress: ({ source, ...far }) =>
        logger.info({ ...far, percent: percentOf(far) }, `reading the chain: ${source}`),
    }),
  );
}

function percentOf({ height, head }: Pick<Progress, 'height' | 'head'>): number {
  return head === 0 ? 100 : Math.floor((100 * height) / head);
}

/** Rounds of probes, as long as this process holds their lease. */
export async function startProbing({ config, broker, logger, signal }: Context): Promise<Part> {
  const { log, leases } = broker;
  const { probeIntervalMs: intervalMs, probePrivateAddresses: allowPrivate, probeHostNames: allowHostNames } = config;
  return running('probing', signal, (ending) =>
    runProbing({ log, leases, intervalMs, allowPrivate, allowHostNames, logger, signal: ending }),
  );
}

/** A part that is a loop: it ends with its signal, and an end before that is a failure. */
function running(name: string, outer: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<void>): Part {
  const ending = new AbortController();
  const signal = outer ? AbortSignal.any([outer, ending.signal]) : ending.signal;
  const done = run(signal);
  const failed = done.then(
    () => never,
    (caught: unknown) => (signal.aborted ? never : Promise.reject(caught)),
  );
  failed.catch(() => undefined);
  const stop = async (): Promise<void> => {
    ending.abort();
    await done.catch(() => undefined);
  };
  return { name, urls: {}, failed, stop };
}
