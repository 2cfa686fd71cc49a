import { describe, expect, test } from 'vitest';
import { ConfigError, parseConfig } from '../../../src/config.ts';

const unset = parseConfig({});

describe('settings of JSON-RPC', () => {
  test('the ports are 8545 and 8546', { tags: ['S1.evm.ports'] }, () => {
    expect(unset).toMatchObject({ evmHttpPort: 8545, evmWsPort: 8546 });
    expect(parseConfig({ EVM_HTTP_PORT: '18545', EVM_WS_PORT: '18546' })).toMatchObject({
      evmHttpPort: 18_545,
      evmWsPort: 18_546,
    });
  });

  test('eth, net, web3 and rpc are served, others where they are named', { tags: ['S1.evm.namespaces'] }, () => {
    expect(unset.evmNamespaces).toEqual(['eth', 'net', 'web3', 'rpc']);
    expect(parseConfig({ EVM_NAMESPACES: 'eth, debug,txpool' }).evmNamespaces).toEqual(['eth', 'debug', 'txpool']);
    expect(() => parseConfig({ EVM_NAMESPACES: 'eth,nothing' })).toThrow(ConfigError);
  });

  test('pages of all origins may ask, or those that are named', () => {
    expect(unset.evmCorsAllowOrigins).toBe('*');
    const { evmCorsAllowOrigins } = parseConfig({ EVM_CORS_ALLOW_ORIGINS: 'https://a.example, https://b.example' });
    expect(evmCorsAllowOrigins).toEqual(['https://a.example', 'https://b.example']);
  });

  test('a call has 5 s and 50 million gas; empty blocks come each 2 s', { tags: ['S1.evm.limits'] }, () => {
    expect(unset).toMatchObject({ evmCallTimeoutMs: 5_000, evmGasCap: 50_000_000, evmBlockTimeMs: 2_000 });
    expect(parseConfig({ EVM_BLOCK_TIME: '0', EVM_CALL_TIMEOUT: '500ms' })).toMatchObject({
      evmBlockTimeMs: 0,
      evmCallTimeoutMs: 500,
    });
  });
});
