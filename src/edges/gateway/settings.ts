import { setting } from '../kit/setting.ts';
import { duration, oneOf, optional, port, size } from '../kit/setting-forms.ts';

const gib = 2 ** 30;
const uploadSize = (value: string): number => {
  const bytes = size(value) ?? gib;
  return bytes < 0 ? gib : Math.min(bytes, gib);
};

/** Settings of the gateway. */
export const gatewaySettings = {
  gatewayPort: setting('GATEWAY_PORT', '8080', port, 'Port of the gateway: uploads, downloads, their progress'),
  gatewayKeyFile: setting(
    'GATEWAY_KEY_FILE',
    '',
    optional,
    'File with the private key of the account that the gateway speaks to SuperNodes with, 64 hex digits; with it the gateway runs unasked. The local network makes one',
  ),
  gatewayKeyType: setting(
    'GATEWAY_KEY_TYPE',
    'eth_secp256k1',
    oneOf('eth_secp256k1', 'secp256k1'),
    'Type of that key on the chain: eth_secp256k1 or secp256k1',
  ),
  nodeTransport: setting(
    'NODE_TRANSPORT',
    'secure',
    oneOf('secure', 'plain'),
    'How the gateway speaks to SuperNodes: secure (the real network’s own channel) or plain',
  ),
  nodeStallTimeoutMs: setting(
    'NODE_STALL_TIMEOUT',
    '2m',
    duration,
    'A transfer with a SuperNode in which nothing moves for so long goes on with the next one',
  ),
  transferDir: setting('TRANSFER_DIR', '', optional, 'Folder of files under way; below DATA_DIR unless set'),
  uploadMaxSize: setting('UPLOAD_MAX_SIZE', '1GiB', uploadSize, 'Largest file that the gateway takes, at most 1GiB'),
  downloadKeepMs: setting('DOWNLOAD_KEEP', '1h', duration, 'How long a fetched file can be had from the gateway'),
  publicDownloads: setting(
    'PUBLIC_DOWNLOADS',
    'request',
    oneOf('request', 'chain'),
    'What makes a download one of a public file: request (its public=true) or chain (the action’s own flag counts as well)',
  ),
} as const;
