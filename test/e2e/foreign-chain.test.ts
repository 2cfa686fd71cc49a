import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startProgram } from '../support/program.ts';

const folder = fileURLToPath(new URL('../fixtures/execution-apis/', import.meta.url));
const head = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7';

async function ask(url: string | undefined, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url ?? 'http://127.0.0.1:1', { method: 'POST', headers, body });
  return await answer.json();
}

test(
  'annals up serves another chain from its genesis and blocks, and again after a start on the same data',
  { tags: ['S1.evm.foreign', 'S1.evm.namespaces'] },
  async () => {
    const env = {
      EVM_GENESIS: `${folder}genesis.json`,
      EVM_IMPORT: `${folder}chain.rlp`,
      EVM_HTTP_PORT: '0',
      EVM_WS_PORT: '0',
    };
    const first = await startProgram({ env, network: 'eth_suite' });
    await first.untilReady();
    expect(Object.keys(first.instance.urls)).not.toContain('chain');
    const url = first.instance.urls['json-rpc'];
    expect(await ask(url, 'eth_getBlockByNumber', ['latest', false])).toMatchObject({ result: { hash: head } });
    expect(await ask(url, 'eth_chainId')).toMatchObject({ result: '0xc72dd9d5e883e' });
    expect(await ask(url, 'debug_getRawHeader', ['latest'])).toMatchObject({ error: { code: -32601 } });
    await first.kill();

    const second = await startProgram({ env, network: 'eth_suite', dataDir: first.dataDir });
    const again = second.instance.urls['json-rpc'];
    expect(await ask(again, 'eth_getBalance', ['0x7dcd17433742f4c0ca53122ab541d0ba67fc27df', head])).toMatchObject({
      result: expect.stringMatching(/^0x/),
    });
  },
);
