import { once } from 'node:events';
import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import { until } from '../../../support/polling.ts';
import { fundedKey, type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

type Message = Readonly<{
  id?: number;
  result?: unknown;
  error?: Readonly<{ code: number }>;
  params?: Readonly<{ subscription: string; result: unknown }>;
}>;

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain();
});
afterAll(async () => await chain.stop());

/** A client that writes down what it hears. */
async function connect() {
  const socket = new WebSocket(chain.wsUrl);
  const heard: Message[] = [];
  socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString('utf8')) as Message));
  await once(socket, 'open');
  let id = 0;
  const ask = async (method: string, params: readonly unknown[] = []): Promise<Message> => {
    id += 1;
    const own = id;
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }));
    await until(`an answer to ${method}`, () => Promise.resolve(heard.some((one) => one.id === own)), 10_000);
    return heard.find((one) => one.id === own) ?? {};
  };
  const told = (subscription: unknown): unknown[] =>
    heard.flatMap(({ params }) => (params && params.subscription === subscription ? [params.result] : []));
  return { socket, ask, told, heard };
}

const config = networkChain({ chainId: 76857769, seconds: 1, accounts: {} });
const common = createForks(config).at({ number: 1n, timestamp: 1n });
let nonce = 0n;

/** A signed transaction that makes a contract whose making writes an empty log. */
function logging(): string {
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n, gasLimit: 100_000n };
  const tx = createFeeMarket1559Tx({ chainId: 76857769n, nonce, data: '0x60016000a060006000f3', ...fees }, { common });
  nonce += 1n;
  return bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize());
}

describe('JSON-RPC over WebSocket', () => {
  test(
    'tells of heads, logs, receipts and waiting transactions once they can be read',
    { tags: ['S1.evm.subscriptions'] },
    async () => {
      const { socket, ask, told, heard } = await connect();
      const begin = async (...params: unknown[]): Promise<unknown> => (await ask('eth_subscribe', params)).result;
      const heads = await begin('newHeads');
      const logs = await begin('logs', {});
      const others = await begin('logs', { address: `0x${'11'.repeat(20)}` });
      const [hashes, whole] = [await begin('newPendingTransactions'), await begin('newPendingTransactions', true)];
      const receipts = await begin('transactionReceipts');
      const syncing = await begin('syncing');
      const { result: hash } = await ask('eth_sendRawTransaction', [logging()]);
      await until('the receipt is told', () => Promise.resolve(told(receipts).length > 0), 10_000);
      const receipt = (await ask('eth_getTransactionReceipt', [hash])).result;
      expect(told(receipts)).toEqual([[receipt]]);
      expect(told(hashes)).toEqual([hash]);
      expect(told(whole)).toMatchObject([{ hash, blockHash: null }]);
      expect(told(heads)).toMatchObject([{ number: '0x1', hash: (receipt as { blockHash: string }).blockHash }]);
      expect(told(logs)).toEqual((receipt as { logs: unknown[] }).logs);
      expect(told(others)).toEqual([]);
      expect(told(syncing)).toEqual([false]);
      const answered = heard.findIndex(({ result }) => result === syncing);
      expect(heard.findIndex(({ params }) => params?.subscription === syncing)).toBeGreaterThan(answered);
      expect((await ask('eth_unsubscribe', [heads])).result).toBe(true);
      expect((await ask('eth_unsubscribe', [heads])).error?.code).toBe(-32000);
      await chain.seal();
      await ask('eth_chainId');
      expect(told(heads)).toHaveLength(1);
      socket.close();
    },
  );

  test(
    'refuses what nobody can subscribe to, and too many subscriptions',
    { tags: ['S1.evm.subscriptions', 'S1.evm.codes'] },
    async () => {
      const { socket, ask } = await connect();
      expect((await ask('eth_subscribe', ['newNothing'])).error?.code).toBe(-32601);
      expect((await ask('eth_subscribe', ['logs', { address: 'x' }])).error?.code).toBe(-32602);
      expect((await ask('eth_subscribe', ['newPendingTransactions', 1])).error?.code).toBe(-32602);
      const many = await Promise.all(Array.from({ length: 100 }, () => ask('eth_subscribe', ['newHeads'])));
      expect(new Set(many.map(({ result }) => result)).size).toBe(100);
      expect((await ask('eth_subscribe', ['newHeads'])).error?.code).toBe(-32000);
      socket.close();
    },
  );

  test(
    'answers in the order of the requests, and what is no JSON with its code',
    { tags: ['S1.evm.shape'] },
    async () => {
      const { socket, heard } = await connect();
      for (let id = 0; id < 50; id += 1) socket.send(`{"jsonrpc":"2.0","id":${id},"method":"eth_blockNumber"}`);
      socket.send('{');
      await until('all are answered', () => Promise.resolve(heard.length === 51), 10_000);
      expect(heard.slice(0, 50).map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, id) => id));
      expect(heard.at(-1)).toMatchObject({ id: null, error: { code: -32700 } });
      socket.close();
    },
  );

  test(
    'cuts a connection that sends bytes, too long a message or too many requests at once',
    { tags: ['S1.evm.caps'] },
    async () => {
      const closedBy = async (send: (socket: WebSocket) => void): Promise<unknown> => {
        const { socket } = await connect();
        const closed = once(socket, 'close');
        send(socket);
        return (await closed)[0];
      };
      expect(await closedBy((socket) => socket.send(Buffer.from('{}')))).toBe(1003);
      expect(await closedBy((socket) => socket.send('x'.repeat(5 * 1024 * 1024 + 1)))).toBe(1009);
      const flood = (socket: WebSocket): void => {
        for (let id = 0; id < 3000; id += 1)
          socket.send(`{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["0x${'11'.repeat(20)}"]}`);
      };
      expect(await closedBy(flood)).toBe(1008);
    },
  );

  test('a call has the gas that it names, and never more than EVM_GAS_CAP', { tags: ['S1.evm.limits'] }, async () => {
    const { socket, ask } = await connect();
    const to = `0x${'5a'.repeat(20)}`;
    // Returns how much gas is left: GAS, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN.
    const overrides = { [to]: { code: '0x5a5f5260205ff3' } };
    const left = async (gas?: number): Promise<number> => {
      const call = gas === undefined ? { to } : { to, gas: `0x${gas.toString(16)}` };
      const { result } = await ask('eth_call', [call, 'latest', overrides]);
      return Number(result);
    };
    const started = 21_002;
    expect(await left(1_000_000)).toBe(1_000_000 - started);
    expect(await left()).toBe(50_000_000 - started);
    expect(await left(50_000_001)).toBe(50_000_000 - started);
    // The block has room for more.
    const blockOverrides = { gasLimit: `0x${(200_000_000).toString(16)}` };
    const calls = [{ to, gas: `0x${(150_000_000).toString(16)}` }];
    const simulated = { blockStateCalls: [{ stateOverrides: overrides, blockOverrides, calls }] };
    const { result } = await ask('eth_simulateV1', [simulated, 'latest']);
    const [block] = result as readonly Readonly<{ calls: readonly Readonly<{ returnData: string }>[] }>[];
    expect(Number(block?.calls[0]?.returnData)).toBe(50_000_000 - started);
    socket.close();
  });

  test('cuts a reader that does not read, and goes on for the others', { tags: ['S1.evm.subscriptions'] }, async () => {
    const slow = await connect();
    const quick = await connect();
    slow.socket.on('error', () => undefined);
    slow.socket.pause();
    const closed = once(slow.socket, 'close');
    const flooding = Array.from({ length: 900 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_getBlockByNumber',
      params: ['latest', true],
    }));
    let isCut = false;
    void closed.then(() => (isCut = true));
    // Its answers are several times what it may leave unread; that it was cut shows when it writes.
    for (let at = 0; !isCut; at += 1) {
      if (at < 100) slow.socket.send(JSON.stringify(flooding));
      else slow.socket.ping(undefined, undefined, () => undefined);
      expect((await quick.ask('eth_blockNumber')).result).toMatch(/^0x/);
    }
    slow.socket.resume();
    await closed;
    quick.socket.close();
  });
});
