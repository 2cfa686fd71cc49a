import { poolLimits } from '../../../commands/ledger/pool.ts';
import { TransactionPool } from '../../../commands/ledger/transaction-pool.ts';
import type { Log } from '../../../engine/log/log.ts';
import type { ChainBlocks } from '../chain/chain-blocks.ts';
import type { News } from '../chain/news.ts';
import type { PendingPool } from '../chain/pending-pool.ts';
import type { Forks } from '../executor/forks.ts';
import { type ChainConfig, chainIdOf } from '../executor/state/genesis.ts';
import type { StateReads } from '../workers/state-reads.ts';
import type { Logger } from '../../../kit/logger.ts';
import { followPool } from './follow-pool.ts';
import { readTransaction, type SignedTransaction, type TransactionBounds } from './read-transaction.ts';
import { SealedNonces } from './sealed-nonces.ts';
import { submissionsIn, submitTransaction } from './submit.ts';

/** The parts that a pool of the log's chain works with. */
export type PoolOptions = Readonly<{
  log: Log;
  config: ChainConfig;
  forks: Forks;
  blocks: Pick<ChainBlocks, 'head'>;
  reads: Pick<StateReads, 'read'>;
  /** Is notified of every accepted transaction, whoever sent it. */
  news: Pick<News, 'tellPending'>;
  logger?: Logger | undefined;
  signal: AbortSignal;
}>;

/** A pool that follows the log; `settle` removes a block's transactions, `ended` settles when it can follow no more. */
export type OpenedPool = Readonly<{
  pool: PendingPool;
  settle: (transactions: readonly Readonly<{ hash: string }>[]) => void;
  ended: Promise<void>;
}>;

/** An account whose code is a delegation (EIP-7702) may send; any other code may not (EIP-3607). */
const delegation = Buffer.from('ef0100', 'hex');

/** The pool of an edge that serves JSON-RPC: follows the submissions of all and their fates, and submits. */
export function openPool(options: PoolOptions): OpenedPool {
  const { log, config, forks, blocks, reads, news, signal } = options;
  const pool = new TransactionPool<SignedTransaction>();
  const first = { number: 1n, timestamp: BigInt(config.genesis.timestamp) };
  const bounds: TransactionBounds = {
    common: forks.at(first),
    chainId: chainIdOf(config),
    feeFloor: config.fees.floor,
  };
  const sealedNonces = new SealedNonces();
  const seal = (hash: string): void => {
    const one = pool.get(hash);
    if (one) sealedNonces.note(one.sender, one.nonce + 1n);
    pool.seal(hash);
  };
  const account = async (address: string) => {
    const { header: at } = await blocks.head();
    const of = { at, address: address as `0x${string}` };
    const { nonce: shown, balance } = await reads.read('account', of);
    const code = await reads.read('code', of);
    const sealed = sealedNonces.of(address);
    return {
      nonce: sealed > shown ? sealed : shown,
      balance,
      hasCode: code.length > 0 && !delegation.equals(code.subarray(0, 3)),
    };
  };
  const take = async (raw: string, at: number): Promise<void> => {
    if (Date.now() - at >= poolLimits.lifetimeMs) return;
    const sent = readTransaction(Buffer.from(raw, 'base64'), bounds, at);
    const answer = pool.admit(sent, { account: await account(sent.sender), ...bounds });
    if (answer.kind === 'admitted') news.tellPending(sent.transaction);
  };
  const ended = followPool(log, {
    onSubmitted: async ({ type, data }) => {
      if (type !== 'EvmTransactionSubmitted') return;
      const own = pool.get(data.hash);
      if (own) return news.tellPending(own.transaction);
      // What cannot be read or judged now is left to the sealer, whose word follows.
      await take(data.raw, Date.parse(data.at)).catch(() => undefined);
    },
    onFate: ({ type, data: { hash } }) => (type === 'SubmissionSealed' ? seal(hash) : pool.remove(hash)),
    isWaiting: (hash) => pool.get(hash) !== undefined,
    waiting: () => submissionsIn(pool),
    log: options.logger,
    signal,
  });
  const submitting = { log, pool, bounds, account, now: () => Date.now() };
  return {
    pool: {
      submit: async (raw) => (await submitTransaction(submitting, raw)).hash,
      pending: () => pool.pending().map(({ transaction }) => transaction),
      queued: () => pool.queued().map(({ transaction }) => transaction),
      get: (hash) => pool.get(hash)?.transaction,
      sealedNonce: (address) => sealedNonces.of(address),
    },
    settle: (transactions) => transactions.forEach(({ hash }) => seal(hash)),
    ended,
  };
}
