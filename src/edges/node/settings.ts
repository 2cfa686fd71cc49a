import { setting } from '../../kit/setting.ts';
import { duration, fileSize, oneOf, optional, port, size, subnet, complete } from '../../kit/setting-forms.ts';

const onOff = (value: string): boolean => oneOf('on', 'off')(value) === 'on';

/** Settings of SuperNodes, an operator's and those of the local network. */
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
    oneOf('eth_secp256k1', 'secp256k1'),
    'Type of that key on the chain: eth_secp256k1 or secp256k1',
  ),
  grpcTlsCert: setting(
    'GRPC_TLS_CERT',
    '',
    optional,
    'PEM file of the certificate of a SuperNode’s gRPC; with it, and GRPC_TLS_KEY, plain connections are refused. Read again when it changes',
  ),
  grpcTlsKey: setting('GRPC_TLS_KEY', '', optional, 'PEM file of its private key'),
  grpcTlsClientCa: setting(
    'GRPC_TLS_CLIENT_CA',
    '',
    optional,
    'PEM file of who signs clients’ certificates; with it, a client needs one',
  ),
  grpcSecure: setting(
    'GRPC_SECURE',
    'on',
    onOff,
    'Whether a SuperNode answers on the real network’s secure channel as well, on GRPC_PORT: on or off',
  ),
  statusSnapshotIntervalMs: setting(
    'STATUS_SNAPSHOT_INTERVAL',
    '30s',
    duration,
    'How long a snapshot of a SuperNode’s P2P metrics is as good as new',
  ),
  nodeCascade: setting(
    'NODE_CASCADE',
    'off',
    onOff,
    'Whether a SuperNode takes files: on or off; those of the local network always do. Refused where the chain is none of Annals: its other nodes could not find our pieces',
  ),
  storageDir: setting(
    'STORAGE_DIR',
    '',
    optional,
    'Folder of a SuperNode’s files; below DATA_DIR unless set. Those of the local network have their own',
  ),
  storageSpace: setting(
    'STORAGE_SPACE',
    '20GiB',
    size,
    'Bytes that the files of each SuperNode may take; a disk with 10 % or 5 GiB free takes none anyway',
  ),
  maxFileBytes: setting('MAX_FILE_BYTES', '1GiB', fileSize, 'Largest file that a SuperNode takes, at most 1GiB'),
  storageCopies: setting(
    'STORAGE_COPIES',
    '3',
    complete(1, 9),
    'Copies of each piece of a file, on as many SuperNodes',
  ),
  repairAfterMs: setting(
    'REPAIR_AFTER',
    '10m',
    duration,
    'How long a SuperNode may be out of reach before copies of what it holds are made elsewhere',
  ),
  localNodes: setting('LOCAL_NODES', '3', complete(1, 9), 'SuperNodes that run on the local network, 1 to 9'),
  localNodesApart: setting(
    'LOCAL_NODES_APART',
    'off',
    onOff,
    'Whether each of them has a process of its own: on or off',
  ),
  localOutages: setting(
    'LOCAL_OUTAGES',
    'on',
    onOff,
    'Whether one of them goes down for a while now and then: on or off',
  ),
  localSubnet: setting(
    'LOCAL_SUBNET',
    '127.0.1',
    subnet,
    'First three numbers of the loopback addresses that SuperNodes of the local network answer on; kept from its first start',
  ),
} as const;
