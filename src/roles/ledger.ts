import { forgetStates } from '../edges/evm/executor/state/forget-states.ts';
import { createExecution, type Execution } from '../edges/evm/workers/execution.ts';
import { openRequested } from '../edges/evm/asked.ts';
import { failureOf } from '../kit/failure.ts';
import { cadenceOf } from '../edges/ledger/cadence.ts';
import { projectedBlocks } from '../edges/ledger/blocks/projected-blocks.ts';
import { runLedger } from '../edges/ledger/run-ledger.ts';
import { openSnapshots } from '../edges/ledger/snapshots.ts';
import { localBeginning } from '../edges/local-network/beginning.ts';
import { startLocalNetwork } from '../edges/local-network/local-network.ts';
import { type Part, type Role, type RoleContext, urlOf } from './role.ts';

/** The local network: its chain and what happens there; nothing where another chain is indexed. */
export const ledger = {
  name: 'ledger',
  async *start(context) {
    if (context.config.isLocal) yield await startLocal(context);
  },
} as const satisfies Role;

async function startLocal(context: RoleContext): Promise<Part> {
  const { config, network: name, postgres, broker, logger, signal } = context;
  const { log, leases } = broker;
  const { localSeed: seed, localSubnet: subnet, localNodes: nodes } = config;
  let execution: Execution | undefined;
  const chain = await runLedger({
    snapshots: openSnapshots(postgres, name),
    forget: (height) => forgetStates(postgres, name, height),
    blocks: (complete) => projectedBlocks(context.reader, complete),
    execution: (evm) => (execution = createExecution({ postgres, network: name, config: evm })),
    log,
    leases,
    beginning: () => localBeginning(seed, Date.now(), subnet),
    host: config.host,
    lcdPort: config.lcdPort,
    rpcPort: config.rpcPort,
    connections: { trustedProxies: config.trustedProxies },
    jsonRpc: () => urlOf(context.running, 'json-rpc') ?? `http://127.0.0.1:${config.evmHttpPort}`,
    logger,
    signal,
  });
  const starting = startLocalNetwork({ ledger: chain, seed, subnet, nodes, logger, signal });
  const network = await Promise.race([starting, chain.failed]).catch(async (caught: unknown) => {
    await chain.stop();
    throw caught;
  });
  const request = openRequested(broker.connection, name);
  chain.keep(cadenceOf(config.evmBlockTimeMs, request));
  const stop = async (): Promise<void> => {
    request.close();
    await network.stop();
    await chain.stop();
    await execution?.close();
  };
  const failed = failureOf([chain.failed, network.failed], signal);
  return {
    name: 'local network',
    urls: { chain: chain.url, ...(chain.rpcUrl !== undefined && { rpc: chain.rpcUrl }) },
    checks: [
      { look: async () => ({ warnings: chain.obstacles().map((message) => ({ component: 'ledger', message })) }) },
    ],
    gauges: [],
    failed,
    stop,
  };
}
