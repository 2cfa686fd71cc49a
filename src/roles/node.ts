import path from 'node:path';
import { AppError } from '../kit/errors.ts';
import { readKeyFile } from '../edges/chain/sign/key-file.ts';
import { createChainClient } from '../edges/chain/rest/client.ts';
import { dataFolder } from '../engine/servers/instance.ts';
import { sampleProcessors } from '../edges/node/machine/processor.ts';
import { observeNodes } from '../edges/node/observed.ts';
import { startNode } from '../edges/node/start-node.ts';
import { startLocalSuperNodes, urlsOfNode } from './local-nodes.ts';
import { prepareOwnFiles } from './own-files.ts';
import { type Part, type Role, type RoleContext, urlOf } from './role.ts';

/** An operator's SuperNode; on the local network those of the network, on addresses of their own. */
export const node = {
  name: 'node',
  start: (context) => (context.config.isLocal ? startLocalSuperNodes(context) : startOwn(context)),
} as const satisfies Role;

async function* startOwn(context: RoleContext): AsyncIterable<Part> {
  yield await runOwn(context);
}

async function runOwn({
  config,
  profile,
  version,
  broker,
  reader,
  logger,
  signal,
  running,
}: RoleContext): Promise<Part> {
  const { host, grpcPort, p2pPort, nodeHttpPort, nodeKeyFile, nodeKeyType: keyType } = config;
  const { grpcTlsCert: cert, grpcTlsKey: key, grpcTlsClientCa: clientCa } = config;
  if (nodeKeyFile === undefined)
    throw new AppError(
      'INVALID_ARGUMENT',
      'A SuperNode needs the key of its account: name its file with NODE_KEY_FILE',
    );
  const chainUrl = urlOf(running, 'chain') ?? config.chainUrl;
  const chain = createChainClient(chainUrl, profile);
  const { cascade, failed } = await prepareOwnFiles(config, { chain, signal });
  const { ports, observe, stop } = await startNode({
    host,
    ports: { grpc: grpcPort, p2p: p2pPort, http: nodeHttpPort },
    folder: path.join(dataFolder(config), 'node'),
    key: await readKeyFile(nodeKeyFile, keyType),
    secure: config.grpcSecure,
    tls: cert !== undefined && key !== undefined ? { cert, key, clientCa } : undefined,
    chain,
    log: broker.log,
    models: reader,
    addressPrefix: profile.addressPrefix,
    version,
    processor: sampleProcessors(signal),
    snapshotMs: config.statusSnapshotIntervalMs,
    cascade,
    logger,
    trustedProxies: config.trustedProxies,
  });
  return {
    name: 'SuperNode',
    urls: urlsOfNode(host, ports, cert !== undefined),
    ...observeNodes(async () => [{ node: host, state: await observe() }]),
    failed,
    stop: async () => {
      await stop();
      await chain.close();
    },
  };
}
