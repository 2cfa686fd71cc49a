import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { funded, type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';

/** One thread answers calls, for so long each. */
const callMs = 1_500;
let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ callMs });
});
afterAll(async () => await chain.stop());

const address = `0x${'ab'.repeat(20)}`;
const request = (method: string, params: readonly unknown[], id = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
// As many JUMPDEST as code may hold, PUSH0, JUMP: the most instructions for its gas, which last far beyond callMs.
const code = `0x${'5b'.repeat(24_000)}5f56`;
const endless = [{ to: address, gas: '0x2faf080' }, 'latest', { [address]: { code } }] as const;

async function post(body: unknown, { url } = chain): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  return await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
}

/** Sends an endless call and closes the connection once it is surely sent. */
async function leave(): Promise<void> {
  const body = JSON.stringify(request('eth_call', endless));
  const socket = connect(Number(new URL(chain.url).port), '127.0.0.1').on('error', () => undefined);
  const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  await new Promise<void>((resolve) => void socket.write(head + body, () => resolve()));
  socket.destroy();
  await once(socket, 'close');
}

/** The same over WebSocket, many of them on one connection. */
async function leaveMany(): Promise<void> {
  const socket = new WebSocket(chain.wsUrl);
  await once(socket, 'open');
  for (let id = 0; id < 60; id += 1) socket.send(JSON.stringify(request('eth_call', endless, id)));
  socket.close();
  await once(socket, 'close');
}

test(
  'accounts are read while calls do not end, and calls end with the connection that they came on',
  { tags: ['S1.evm.fair', 'S1.evm.endless'] },
  async () => {
    const order: string[] = [];
    // The thread that reads accounts has started before the call counts its time.
    await post(request('eth_getBalance', [funded, 'latest']));
    const waits = post(request('eth_call', endless)).then((answer) => {
      order.push('endless');
      return answer;
    });
    expect(await post(request('eth_getBalance', [funded, 'latest']))).toMatchObject({ result: '0x56bc75e2d63100000' });
    expect(await post(request('eth_getStorageAt', [funded, '0x0', 'latest']))).toHaveProperty('result');
    order.push('account');
    expect(await waits).toMatchObject({ error: { code: -32000 } });
    expect(order).toEqual(['account', 'endless']);
    await Promise.all(Array.from({ length: 60 }, leave));
    await leaveMany();
    expect(await post(request('eth_call', [{ to: address }, 'latest']))).toMatchObject({ result: '0x' });
  },
);

test('a batch ends when its time is over, and says so', { tags: ['S1.evm.fair', 'S1.evm.codes'] }, async () => {
  // Less than three calls that never end take.
  const hurried = await startSealingChain({ callMs, messageMs: 2.5 * callMs });
  onTestFinished(async () => await hurried.stop());
  const calls = Array.from({ length: 40 }, (_, id) => request('eth_call', endless, id + 1));
  const batch = [request('eth_chainId', [], 0), ...calls];
  const answers = (await post(batch, hurried)) as { id: number; result?: string; error?: { code: number } }[];
  expect(answers.map(({ id }) => id)).toEqual(batch.map((_, id) => id));
  expect(answers[0]?.result).toBe('0x494c1a9');
  const codes = answers.slice(1).map(({ error }) => error?.code);
  const late = codes.indexOf(-32002);
  expect(late).toBeLessThanOrEqual(2);
  expect(codes).toEqual(calls.map((_, at) => (at < late ? -32000 : -32002)));
});
