import type { RoundProgress } from '../edges/indexer/rounds/round.ts';
import { runSync } from '../edges/indexer/rounds/run-sync.ts';
import { intervalsOf, observeSync } from '../edges/indexer/observed.ts';
import { runProbing } from '../edges/indexer/probe/rounds.ts';
import { runClosing } from '../edges/indexer/uptime/closer.ts';
import { createProvenLogs } from '../engine/archive/proof/serving.ts';
import { startHooks } from './hooks.ts';
import { startApi } from './indexer-api.ts';
import { looping, type Part, type Role, type RoleContext, urlOf } from './role.ts';

/**
 * Sync with the chain, probes of SuperNodes, the closing of their days, deliveries to webhooks, and the indexing REST
 * API, which comes last: when there is something to answer from.
 */
export const indexer = {
  name: 'indexer',
  async *start(context) {
    const chainUrl = urlOf(context.running, 'chain') ?? context.config.chainUrl;
    yield startSync(context, chainUrl);
    yield startProbing(context);
    yield startClosing(context);
    yield startHooks(context);
    yield await startApi(context, context.config.isLocal ? chainUrl : null);
  },
} as const satisfies Role;

/** Rounds of sync over a chain's REST, as long as this process holds their lease. */
function startSync({ config, profile, broker, watching, logger, signal }: RoleContext, chainUrl: string): Part {
  const { log, leases } = broker;
  const run = (ending: AbortSignal): Promise<void> =>
    runSync({
      chainApiBase: chainUrl,
      profile,
      log,
      leases,
      intervalsMs: intervalsOf(config),
      logger,
      signal: ending,
      onProgress: ({ source, ...far }) =>
        logger.info({ ...far, percent: percentOf(far) }, `reading the chain: ${source}`),
    });
  return looping('sync', signal, run, observeSync(watching.read, { ...config, clock: () => Date.now() }));
}

function percentOf({ height, head }: Pick<RoundProgress, 'height' | 'head'>): number {
  return head === 0 ? 100 : Math.floor((100 * height) / head);
}

/** Rounds of probes, as long as this process holds their lease. */
function startProbing({ config, broker, logger, signal }: RoleContext): Part {
  const { log, leases } = broker;
  const { probeIntervalMs: intervalMs, probePrivateAddresses: allowPrivate, probeHostNames: allowHostNames } = config;
  return looping('probing', signal, (ending) =>
    runProbing({ log, leases, intervalMs, allowPrivate, allowHostNames, logger, signal: ending }),
  );
}

/** The closing of days, as long as this process holds its lease. */
function startClosing({ broker, pools, network, logger, signal }: RoleContext): Part {
  const { log, leases } = broker;
  const logs = createProvenLogs({ pools, network });
  const tree = async () => {
    const checkpoint = await logs.checkpoint('PROBES');
    return checkpoint && { size: checkpoint.size, root: Buffer.from(checkpoint.root).toString('base64') };
  };
  const clock = () => Date.now();
  return looping('uptime', signal, (ending) => runClosing({ log, leases, tree, clock, logger, signal: ending }));
}
