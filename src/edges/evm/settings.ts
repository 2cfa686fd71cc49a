import { setting } from '../../kit/setting.ts';
import { duration, oneOf, origins, port, complete } from '../../kit/setting-forms.ts';
import { namespaces } from './namespaces.ts';

const namespaceList = (value: string) => value.split(',').map((word) => oneOf(...namespaces)(word.trim()));

/** Settings of JSON-RPC. */
export const evmSettings = {
  evmHttpPort: setting('EVM_HTTP_PORT', '8545', port, 'Port of the EVM’s JSON-RPC over HTTP'),
  evmWsPort: setting('EVM_WS_PORT', '8546', port, 'Port of the EVM’s JSON-RPC over WebSocket'),
  evmNamespaces: setting(
    'EVM_NAMESPACES',
    'eth,net,web3,rpc',
    namespaceList,
    `Groups of methods that JSON-RPC answers, separated by commas: ${namespaces.join(', ')}`,
  ),
  evmCorsAllowOrigins: setting(
    'EVM_CORS_ALLOW_ORIGINS',
    '*',
    origins,
    'Origins of web pages that may use JSON-RPC, separated by commas; programs send none and always may',
  ),
  evmBlockTimeMs: setting(
    'EVM_BLOCK_TIME',
    '2s',
    (value) => (value === '0' ? 0 : duration(value)),
    'Time between empty blocks of the local network while JSON-RPC is asked, else one a minute; 0: blocks on demand alone',
  ),
  evmCallTimeoutMs: setting(
    'EVM_CALL_TIMEOUT',
    '5s',
    duration,
    'Longest time that one call, estimate, trace or simulation may take',
  ),
  evmGasCap: setting('EVM_GAS_CAP', '50000000', complete(21_000, 10_000_000_000), 'Most gas that a call may use'),
  evmReadThreads: setting('EVM_READ_THREADS', '2', complete(1, 64), 'Threads that answer calls at the same time'),
} as const;
