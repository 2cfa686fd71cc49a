import { on, once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { methods } from '../../../../src/edges/evm/methods/all.ts';
import type { Catalogue } from '../../../../src/edges/evm/rpc/catalogue.ts';
import { type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain();
});
afterAll(async () => await chain.stop());

/** Code of EIP-7966 for a transaction that no block took in the time. */
const inNoBlock = 4;

type Answer = Readonly<{ result?: unknown; error?: Readonly<{ code: number }> }>;

async function ask(method: string, params: readonly unknown[] = []): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  return (await (await fetch(chain.url, { method: 'POST', body, headers })).json()) as Answer;
}

const catalogue = async (): Promise<Catalogue> => (await ask('rpc_discover')).result as Catalogue;

describe('rpc_discover', () => {
  test(
    'names every method that can be called, and no other',
    { tags: ['S1.evm.catalogue.callable', 'S1.evm.namespaces'] },
    async () => {
      const named = (await catalogue()).methods.map(({ name }) => String(name));
      expect(new Set(named).size).toBe(named.length);
      const missing = async (name: string): Promise<boolean> =>
        (
          await ask(
            name,
            Array.from({ length: 9 }, () => 0),
          )
        ).error?.code === -32601;
      for (const { name } of methods) expect([name, await missing(name)]).toEqual([name, !named.includes(name)]);
      expect(named).toEqual(expect.arrayContaining(['rpc_discover', 'rpc.discover', 'eth_subscribe']));
      expect(named).not.toContain('debug_getRawBlock');
    },
  );

  test(
    'answers the same under both names, and as the file of the build, but for where it is served',
    { tags: ['S1.evm.discover', 'S1.evm.catalogue.built'] },
    async () => {
      const given = await catalogue();
      expect((await ask('rpc.discover')).result).toEqual(given);
      expect(given.servers[0]?.url).toBe(chain.url);
      const built: unknown = JSON.parse(
        readFileSync(path.join(import.meta.dirname, '../../../../infra/openrpc.json'), 'utf8'),
      );
      expect(Object.keys(given)[0]).toBe('openrpc');
      expect({ ...given, info: 0, servers: 0 }).toEqual({ ...(built as object), info: 0, servers: 0 });
    },
  );

  test('gives an example of every method, which fits and holds', { tags: ['S1.evm.catalogue.examples'] }, async () => {
    const all = await startSealingChain({
      namespaces: ['eth', 'net', 'web3', 'rpc', 'txpool', 'debug', 'ots', 'trace', 'testing'],
    });
    const socket = new WebSocket(all.wsUrl);
    await once(socket, 'open');
    // Several messages may come at once: `once` would wait for the next in vain.
    const messages = on(socket, 'message');
    const send = async (name: string, params: readonly unknown[]): Promise<Answer> => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params }));
      for (;;) {
        const { value } = (await messages.next()) as { value: [Buffer] };
        const answer = JSON.parse(value[0].toString()) as Answer & { id?: number };
        if (answer.id === 1) return answer;
      }
    };
    for (const { name, result, examples = [] } of methods) {
      expect([name, examples.length]).not.toEqual([name, 0]);
      const fits = Compile(result);
      for (const example of examples) {
        expect([name, fits.Check(example.result)]).toEqual([name, true]);
        const answer = await send(name, example.params);
        if (example.varies === undefined) expect([name, answer.result]).toEqual([name, example.result]);
        // Names that are made anew each time, and blocks that are not there, are known to nobody here.
        else if (answer.error) expect([-32000, inNoBlock], name).toContain(answer.error.code);
        else expect([name, fits.Check(answer.result)]).toEqual([name, true]);
      }
    }
    socket.close();
    await all.stop();
  });
});
