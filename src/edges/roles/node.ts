import path from 'node:path';
import { AppError } from '../../commands/errors.ts';
import { createChainClient } from '../indexer/chain/client.ts';
import { accountOf, readKeyFile } from '../kit/account.ts';
import { dataFolder } from '../kit/instance.ts';
import { hostPort } from '../kit/net-address.ts';
import { sampleProcessors } from '../node/machine/processor.ts';
import { startNode } from '../node/start-node.ts';
import { type Part, type Role, type RoleContext, urlOf } from './role.ts';

/** An operator's SuperNode. */
export const node = {
  name: 'node',
  ports: ({ host, grpcPort, nodeHttpPort, p2pPort }) => [
    { setting: 'GRPC_PORT', host, port: grpcPort },
    { setting: 'NODE_HTTP_PORT', host, port: nodeHttpPort },
    { setting: 'P2P_PORT', host, port: p2pPort },
  ],
  async *start(context) {
    yield await startOwn(context);
  },
} as const satisfies Role;

async function startOwn({ config, profile, version, logger, signal, running }: RoleContext): Promise<Part> {
  const { host, grpcPort, p2pPort, nodeHttpPort, nodeKeyFile, nodeKeyType: keyType } = config;
  if (nodeKeyFile === undefined)
    throw new AppError(
      'INVALID_ARGUMENT',
      'A SuperNode needs the key of its account: name its file with NODE_KEY_FILE',
    );
  const { address: account } = accountOf(await readKeyFile(nodeKeyFile), { keyType, prefix: profile.addressPrefix });
  const chain = createChainClient(urlOf(running, 'chain') ?? config.chainUrl, profile);
  const { ports, stop } = await startNode({
    host,
    ports: { grpc: grpcPort, p2p: p2pPort, http: nodeHttpPort },
    folder: path.join(dataFolder(config), 'node'),
    account,
    chain,
    addressPrefix: profile.addressPrefix,
    version,
    processor: sampleProcessors(signal),
    snapshotMs: config.statusSnapshotIntervalMs,
    logger,
  });
  return {
    name: 'SuperNode',
    urls: {
      'node grpc': `http://${hostPort(host, ports.grpc)}`,
      'node status': `http://${hostPort(host, ports.http)}/api/v1/status`,
    },
    checks: [],
    gauges: [],
    failed: new Promise<never>(() => undefined),
    stop: async () => {
      await stop();
      await chain.close();
    },
  };
}
