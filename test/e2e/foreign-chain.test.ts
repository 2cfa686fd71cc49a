import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { freshDatabase } from '../support/programs/servers.ts';

const tool = fileURLToPath(new URL('../../tools/foreign-chain/main.ts', import.meta.url));
const folder = fileURLToPath(new URL('../fixtures/execution-apis/', import.meta.url));
const head = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7';
const started: ChildProcess[] = [];

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** Starts the tool on free ports; resolves with its network and the address of its JSON-RPC once it prints them. */
async function serve(dsn: string) {
  const options = ['--genesis', `${folder}genesis.json`, '--import', `${folder}chain.rlp`];
  const env = { ...process.env, DB_DSN: dsn, EVM_HTTP_PORT: '0', EVM_WS_PORT: '0', LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [tool, ...options], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const ended = once(child, 'exit');
  const line = once(createInterface(child.stdout), 'line') as Promise<[string]>;
  const printed = await Promise.race([line, ended.then(() => undefined)]);
  if (printed === undefined) throw new Error('The tool ended before it served anything');
  const { network, urls } = JSON.parse(printed[0]);
  const stop = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> => {
    child.kill(signal);
    return (await ended)[0];
  };
  return { network, url: urls['json-rpc'] as string, stop };
}

async function call(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body });
  return await answer.json();
}

test(
  'tools/foreign-chain serves another chain from its genesis and blocks, and again after a start on the same data',
  { tags: ['S1.evm.foreign', 'S1.evm.namespaces'] },
  async () => {
    const { user, host = '', port, database } = await freshDatabase();
    const dsn = `postgres://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`;
    const first = await serve(dsn);
    expect(first.network).toBe('eth_44fd89d5');
    expect(await call(first.url, 'eth_getBlockByNumber', ['latest', false])).toMatchObject({ result: { hash: head } });
    expect(await call(first.url, 'eth_chainId')).toMatchObject({ result: '0xc72dd9d5e883e' });
    expect(await call(first.url, 'debug_getRawHeader', ['latest'])).toMatchObject({ error: { code: -32601 } });
    await first.stop('SIGKILL');

    const second = await serve(dsn);
    const balance = await call(second.url, 'eth_getBalance', ['0x7dcd17433742f4c0ca53122ab541d0ba67fc27df', head]);
    expect(balance).toMatchObject({ result: expect.stringMatching(/^0x/) });
    expect(await second.stop('SIGTERM')).toBe(0);
  },
);
