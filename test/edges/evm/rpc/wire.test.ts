import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain();
});
afterAll(async () => await chain.stop());

type Answer = Readonly<{ status: number; body: unknown }>;

async function post(body: string): Promise<Answer> {
  const response = await fetch(chain.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}

const call = (method: string, params: unknown = [], id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const ask = async (method: string, params: unknown = []): Promise<unknown> =>
  (await post(JSON.stringify(call(method, params)))).body;
const refused = (code: number, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: expect.any(String) },
});

describe('JSON-RPC over HTTP', () => {
  test('tells the chain id and the height as hex numbers', { tags: ['S1.evm.chain-id', 'S1.evm.shape'] }, async () => {
    expect(await ask('eth_chainId')).toEqual({ jsonrpc: '2.0', id: 1, result: '0x494c1a9' });
    expect(await ask('net_version')).toEqual({ jsonrpc: '2.0', id: 1, result: '76857769' });
    const { result: height } = (await ask('eth_blockNumber')) as { result: string };
    expect(height).toMatch(/^0x(0|[1-9a-f][0-9a-f]*)$/);
    await chain.seal();
    expect(await ask('eth_blockNumber')).toMatchObject({ result: `0x${(BigInt(height) + 1n).toString(16)}` });
  });

  test('answers what is no request with the codes of JSON-RPC', { tags: ['S1.evm.codes'] }, async () => {
    expect((await post('{"jsonrpc":')).body).toEqual(refused(-32700, null));
    expect((await post('[]')).body).toEqual(refused(-32600, null));
    expect((await post('3')).body).toEqual(refused(-32600, null));
    expect((await post('{"id":1,"method":"eth_chainId"}')).body).toEqual(refused(-32600));
    expect((await post('{"jsonrpc":"2.0","id":1}')).body).toEqual(refused(-32600));
  });

  test(
    'answers each entry of a batch, in order, and nothing to notifications',
    { tags: ['S1.evm.shape', 'S1.evm.caps'] },
    async () => {
      const batch = [call('eth_chainId', [], 'a'), 5, call('nope', [], 2), { jsonrpc: '2.0', method: 'eth_chainId' }];
      expect((await post(JSON.stringify(batch))).body).toEqual([
        { jsonrpc: '2.0', id: 'a', result: '0x494c1a9' },
        refused(-32600, null),
        refused(-32601, 2),
      ]);
      expect(await post('{"jsonrpc":"2.0","method":"eth_chainId"}')).toEqual({ status: 204, body: undefined });
    },
  );

  test('takes a thousand requests in a batch and no more', { tags: ['S1.evm.caps'] }, async () => {
    const many = (count: number): string => JSON.stringify(Array.from({ length: count }, () => call('eth_chainId')));
    expect((await post(many(1000))).body).toHaveLength(1000);
    expect((await post(many(1001))).body).toEqual([refused(-32600)]);
  });

  test('refuses bodies beyond 5 MiB with 413', { tags: ['S1.evm.caps'] }, async () => {
    expect((await post(JSON.stringify(call('web3_sha3', [`0x${'00'.repeat(2_700_000)}`])))).status).toBe(413);
  });

  test(
    'refuses parameters that do not fit, unknown methods, filters and ranges',
    { tags: ['S1.evm.codes', 'S1.evm.caps'] },
    async () => {
      expect(await ask('eth_getBalance', ['0x12', 'latest'])).toEqual(refused(-32602));
      expect(await ask('eth_getBalance', [])).toEqual(refused(-32602));
      expect(await ask('eth_chainId', { name: 1 })).toEqual(refused(-32602));
      expect(await ask('eth_getLogs', [{ fromBlock: '0x5', toBlock: '0x1' }])).toEqual(refused(-32602));
      expect(await ask('eth_getLogs', [{ fromBlock: '0x0', toBlock: '0xffff' }])).toEqual(refused(-32602));
      expect(await ask('eth_getFilterChanges', ['0x1'])).toEqual(refused(-32000));
      expect(await ask('eth_subscribe', ['newHeads'])).toEqual(refused(-32601));
      expect(await ask('debug_getRawBlock', ['latest'])).toEqual(refused(-32601));
      expect(await ask('eth_sendRawTransaction', ['0x1234'])).toEqual(refused(-32000));
    },
  );

  test('answers preflights and refuses other verbs', { tags: ['S1.evm.shape'] }, async () => {
    const preflight = await fetch(chain.url, { method: 'OPTIONS', headers: { origin: 'http://example.org' } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    const other = await fetch(chain.url, { method: 'PUT', body: '{}' });
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  test('collects blocks for a filter until it is asked', { tags: ['S1.evm.filters'] }, async () => {
    const { result: id } = (await ask('eth_newBlockFilter')) as { result: string };
    await chain.seal();
    const { result: head } = (await ask('eth_getBlockByNumber', ['latest', false])) as { result: { hash: string } };
    expect(await ask('eth_getFilterChanges', [id])).toMatchObject({ result: [head.hash] });
    expect(await ask('eth_getFilterChanges', [id])).toMatchObject({ result: [] });
    expect(await ask('eth_getFilterLogs', [id])).toEqual(refused(-32000));
    expect(await ask('eth_uninstallFilter', [id])).toMatchObject({ result: true });
    expect(await ask('eth_uninstallFilter', [id])).toMatchObject({ result: false });
    expect(await ask('eth_getFilterChanges', [id])).toEqual(refused(-32000));
  });
});
