import { setting } from '../../kit/setting.ts';
import {
  byteRate,
  duration,
  fileSize,
  oneOf,
  optional,
  port,
  requestRate,
  size,
  complete,
} from '../../kit/setting-forms.ts';

const space = (value: string): number | undefined => {
  const bytes = size(value);
  return bytes === -1 ? undefined : bytes;
};
const count = complete(1, 1_000_000);
const keyTypes = oneOf('eth_secp256k1', 'secp256k1');
const keyType = (value: string) => (value === '' ? undefined : keyTypes(value));

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
    '',
    keyType,
    'Type of that key on the chain: eth_secp256k1 or secp256k1; without it the one whose account the chain knows',
  ),
  nodeTransport: setting(
    'NODE_TRANSPORT',
    'secure',
    oneOf('secure', 'plain'),
    'How the gateway speaks to SuperNodes: secure (the real network’s own channel) or plain',
  ),
  nodePorts: setting(
    'NODE_PORTS',
    'usual',
    oneOf('usual', 'registered'),
    'Where SuperNodes are asked for files: usual (port 4444) or registered (the port of the node’s address on the chain, where it names one)',
  ),
  nodeStallTimeoutMs: setting(
    'NODE_STALL_TIMEOUT',
    '2m',
    duration,
    'A transfer with a SuperNode in which no byte moves for so long goes on with the next one; NODE_PROCESSING_TIMEOUT holds while a node works with a whole file',
  ),
  nodeProcessingTimeoutMs: setting(
    'NODE_PROCESSING_TIMEOUT',
    '10m',
    duration,
    'A SuperNode that has a whole file may say nothing for so long while it encodes and stores it',
  ),
  transferDir: setting('TRANSFER_DIR', '', optional, 'Folder of files under way; below DATA_DIR unless set'),
  uploadMaxSize: setting('UPLOAD_MAX_SIZE', '1GiB', fileSize, 'Largest file that the gateway takes, at most 1GiB'),
  uploadStallTimeoutMs: setting(
    'UPLOAD_STALL_TIMEOUT',
    '30s',
    duration,
    'An upload of which no byte comes for so long is refused with 408',
  ),
  uploadMinRate: setting(
    'UPLOAD_MIN_RATE',
    '16KiB',
    byteRate,
    'An upload that comes with less a second, over 30 seconds, is refused with 408',
  ),
  uploadTempMaxAgeMs: setting(
    'UPLOAD_TEMP_MAX_AGE',
    '1h',
    duration,
    'What is left of uploads without a task goes once it is older than this',
  ),
  uploadsMaxPerAddress: setting('UPLOADS_MAX_PER_ADDRESS', '8', count, 'Uploads at once of one address'),
  transferSpace: setting(
    'TRANSFER_SPACE',
    'unlimited',
    space,
    'Most bytes of files under way and fetched, of which downloads fill three quarters; the last tenth of the volume, at most 5GiB, is left free anyhow, by downloads twice as much',
  ),
  rateLimit: setting(
    'RATE_LIMIT',
    '600/m',
    requestRate,
    'Requests to the gateway of one address (IPv6: of one /64) in a second, a minute or an hour; off for no limit',
  ),
  sseMax: setting('SSE_MAX', '5000', count, 'Streams of states at once'),
  sseMaxPerAddress: setting('SSE_MAX_PER_ADDRESS', '20', count, 'Streams of states at once of one address'),
  downloadsMax: setting('DOWNLOADS_MAX', '256', count, 'Downloads from SuperNodes at once'),
  downloadsMaxPerAddress: setting(
    'DOWNLOADS_MAX_PER_ADDRESS',
    '16',
    count,
    'Downloads from SuperNodes at once of one address; one that joins another counts for none',
  ),
  downloadKeepMs: setting(
    'DOWNLOAD_KEEP',
    '1h',
    duration,
    'How long a fetched file is kept; each request for a public file that is kept starts the time anew',
  ),
  signatures: setting(
    'SIGNATURES',
    'any',
    oneOf('any', 'adr036'),
    'What a signature may be over: any (the text itself or its ADR-036 document) or adr036 (that document alone)',
  ),
  publicDownloads: setting(
    'PUBLIC_DOWNLOADS',
    'request',
    oneOf('request', 'chain'),
    'What makes a download one of a public file: request (its public=true) or chain (the action’s own flag counts as well)',
  ),
} as const;
