import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startServingThread } from '../../../src/edges/evm/workers/serving.ts';
import { createLog } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { blocks } from '../../../src/projections/chain/blocks.ts';
import { until } from '../../support/polling.ts';
import { testNats } from '../../support/programs/servers.ts';
import { appendFacts, connected } from '../../engine/log/fresh-log.ts';
import { openDatabase, startProjector } from '../../engine/models/engine.ts';
import { config, unreadable } from './unreadable-blocks.ts';

type Block = Readonly<{ number: string; hash: string }>;
type LogForm = Readonly<{ blockNumber: string; logIndex: string }>;
type Message = Readonly<{
  id?: number;
  result?: unknown;
  params?: Readonly<{ subscription: string; result: unknown }>;
}>;

/** A chain whose blocks come from a log of its own by way of the read model, and its JSON-RPC. */
async function servedChain() {
  const database = await openDatabase();
  const { network, config: postgres } = database;
  const nc = await connected();
  await ensureStreams(nc, network);
  const log = createLog(nc, network);
  startProjector(database, log, { projections: [blocks] });
  const limits = { callTimeoutMs: 1_000, readThreads: 1, gasCap: 1n };
  const place = { host: '127.0.0.1', httpPort: 0, wsPort: 0, version: '0.0.0' };
  const from = { nats: testNats(), access: { postgres, network, config } };
  const serving = { onAppendRefused: () => undefined, onDamage: () => undefined, signal: new AbortController().signal };
  const served = await startServingThread().serve(
    { ...limits, ...place, ...from, namespaces: ['eth'], log: { level: 'error', format: 'json' } },
    serving,
  );
  onTestFinished(served.stop);
  return { log, served };
}

async function connect(url: string) {
  const socket = new WebSocket(url);
  onTestFinished(() => socket.terminate());
  const received: Message[] = [];
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString('utf8')) as Message));
  await once(socket, 'open');
  let id = 0;
  const ask = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const own = (id += 1);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }));
    return (await until(`an answer to ${method}`, () => received.find((one) => one.id === own))).result;
  };
  const of = (subscription: unknown): readonly unknown[] =>
    received.flatMap(({ params }) => (params && params.subscription === subscription ? [params.result] : []));
  return { ask, of, received };
}

test(
  'each subscription reports every block in order, and each of its logs once, however many blocks come at once',
  { tags: ['S1.evm.subscriptions'] },
  async () => {
    const { log, served } = await servedChain();
    const { ask, of, received } = await connect(served.wsUrl);
    // From the first block of the chain on.
    const [heads, logs] = [await ask('eth_subscribe', 'newHeads'), await ask('eth_subscribe', 'logs', {})];
    const receipts = await ask('eth_subscribe', 'transactionReceipts');
    const rest = Array.from({ length: 39 }, (_, at) => at + 1);
    for (let at = 0; at < rest.length; at += 13) {
      await appendFacts(log, rest.slice(at, at + 13).map(unreadable));
      await until('they are reported', () => of(receipts).length >= at + 13);
    }
    const numbers = rest.map((number) => `0x${number.toString(16)}`);
    expect((of(heads) as readonly Block[]).map(({ number }) => number)).toEqual(numbers);
    const places = (of(logs) as readonly LogForm[]).map((one) => `${one.blockNumber} ${one.logIndex}`);
    expect(places).toEqual(numbers.flatMap((number) => [0, 1, 2, 3].map((at) => `${number} 0x${at}`)));
    expect(of(logs)).toEqual(await ask('eth_getLogs', { fromBlock: numbers[0], toBlock: 'latest' }));
    expect((of(receipts) as readonly (readonly LogForm[])[]).map(([one]) => one?.blockNumber)).toEqual(numbers);
    // A block's head comes before its logs, and those before the next block's head.
    const counted = new Set([heads, logs]);
    const order = received.flatMap(({ params }) => {
      const result = params?.result as (Block & LogForm) | undefined;
      return params && counted.has(params.subscription) ? [result?.blockNumber ?? result?.number] : [];
    });
    expect(order).toEqual(numbers.flatMap((number) => Array.from({ length: 5 }, () => number)));
  },
);
