import { keyTypes } from '../kit/account.ts';
import { setting } from '../kit/setting.ts';
import { duration, oneOf, optional, port } from '../kit/setting-forms.ts';

/** Settings of a SuperNode. */
export const nodeSettings = {
  grpcPort: setting(
    'GRPC_PORT',
    '4444',
    port,
    'Port of a SuperNode’s gRPC, gRPC-Web and Connect; those of the local network have the usual ports on addresses of their own',
  ),
  nodeHttpPort: setting('NODE_HTTP_PORT', '8002', port, 'Port of a SuperNode’s status over HTTP'),
  p2pPort: setting('P2P_PORT', '4445', port, 'Port of a SuperNode for other nodes'),
  nodeConfig: setting(
    'NODE_CONFIG',
    '',
    optional,
    'YAML file of a SuperNode with `supernode.port`, `supernode.gateway_port`, `supernode.host` and `p2p.port`; what the environment sets counts more',
  ),
  nodeKeyFile: setting(
    'NODE_KEY_FILE',
    '',
    optional,
    'File with the private key of a SuperNode’s account, 64 hex digits; with it the node runs unasked',
  ),
  nodeKeyType: setting(
    'NODE_KEY_TYPE',
    'eth_secp256k1',
    oneOf(...keyTypes),
    'Type of that key on the chain: eth_secp256k1 or secp256k1',
  ),
  statusSnapshotIntervalMs: setting(
    'STATUS_SNAPSHOT_INTERVAL',
    '30s',
    duration,
    'How long a snapshot of a SuperNode’s P2P metrics is as good as new',
  ),
} as const;
