import type { Log } from '../../log/log.ts';
import type { ChainBlocks } from '../chain/chain-blocks.ts';
import type { News } from '../chain/news.ts';
import type { PendingPool } from '../chain/pending-pool.ts';
import type { Forks } from '../executor/forks.ts';
import { type ChainConfig, chainIdOf } from '../executor/genesis.ts';
import type { StateReads } from '../workers/state-reads.ts';
import { followPool } from './follow-pool.ts';
import type { TransactionBounds } from './read-transaction.ts';
import { submitTransaction } from './submit.ts';
import { WaitingTransactions } from './waiting.ts';

/** What a pool of the log's chain works with. */
export type PoolOptions = Readonly<{
  log: Log;
  config: ChainConfig;
  forks: Forks;
  blocks: ChainBlocks;
  reads: Pick<StateReads, 'read'>;
  /** Hears of every transaction that is taken in, by whomever. */
  news: Pick<News, 'tellPending'>;
  signal: AbortSignal;
}>;

/** A pool that follows the log; `settle` forgets what a block holds. */
export type OpenedPool = Readonly<{
  pool: PendingPool;
  settle: (sealed: readonly Readonly<{ hash: string }>[]) => void;
  ended: Promise<void>;
}>;

/** What was submitted by others was admitted by them; who seals passes over those that are late. */
const admitted = { nonce: 0n, balance: 2n ** 255n } as const;

/** The pool of whoever serves JSON-RPC: follows the submissions of all, and submits. */
export function openPool(options: PoolOptions): OpenedPool {
  const { log, config, forks, blocks, reads, news, signal } = options;
  const waiting = new WaitingTransactions();
  const place = { number: 1n, timestamp: BigInt(config.genesis.timestamp) };
  const feeFloor = config.fees.floor;
  const bounds: TransactionBounds = { common: forks.at(place), chainId: chainIdOf(config), feeFloor };
  const account = async (address: string) => {
    const { header } = await blocks.head();
    return await reads.read('account', { at: header, address: address as `0x${string}` });
  };
  const submitting = { log, waiting, bounds, account, now: () => Date.now() };
  const following = followPool(log, bounds, {
    take: (one) => {
      if (waiting.admit(one, { account: admitted, ...bounds }) === undefined) news.tellPending(one.transaction);
    },
    signal,
  });
  return {
    pool: {
      submit: async (raw) => (await submitTransaction(submitting, raw)).hash,
      pending: () => waiting.all().map(({ transaction }) => transaction),
    },
    settle: (sealed) => {
      for (const { hash } of sealed) waiting.remove(hash);
      waiting.settle(() => 0n, Date.now());
    },
    ended: following,
  };
}
