import { parentPort } from 'node:worker_threads';
import type { BlockHead } from '../../../../src/edges/evm/chain/chain-blocks.ts';
import type { LogForm } from '../../../../src/edges/evm/chain/log-form.ts';
import { News } from '../../../../src/edges/evm/chain/news.ts';
import { subscriptionMethods } from '../../../../src/edges/evm/methods/subscriptions.ts';
import { createDispatcher } from '../../../../src/edges/evm/rpc/dispatcher.ts';
import { CallIntake, conditionBounds, unreadBounds } from '../../../../src/edges/evm/rpc/intake.ts';
import type { ServedContext } from '../../../../src/edges/evm/rpc/registry.ts';
import { createWebSocketServer } from '../../../../src/edges/evm/rpc/websocket-server.ts';
import { listen } from '../../../../src/kit/listen.ts';
import { createLogger } from '../../../../src/kit/logger.ts';

/**
 * Serves subscriptions in a thread of little memory: posts its port, and with each number that it receives notifies of
 * a block of so many logs.
 */
const news = new News();
const context = { enabled: new Set(['eth']), news, conditions: new CallIntake(conditionBounds), reads: {} };
const server = createWebSocketServer({
  dispatch: createDispatcher(subscriptionMethods, context as unknown as ServedContext, {
    logger: createLogger({ level: 'error', format: 'json' }),
  }),
  origins: '*',
  intake: new CallIntake(),
  unread: new CallIntake(unreadBounds),
});
parentPort?.on('message', (count: number) => {
  const logs = Array.from({ length: count }, (_, at) => ({
    logIndex: `0x${at.toString(16)}`,
    address: `0x${'5a'.repeat(20)}`,
    topics: [`0x${'11'.repeat(32)}`],
    data: `0x${'00'.repeat(64)}`,
  }));
  const contents = { logs: () => Promise.resolve(logs as unknown as LogForm[]), receipts: () => Promise.resolve([]) };
  void news.tellBlock({ transactions: 1 } as unknown as BlockHead, contents);
});
const port = await listen(server, { host: '127.0.0.1', port: 0, what: 'JSON-RPC over WebSocket', remedy: '' });
parentPort?.postMessage(port, []);
