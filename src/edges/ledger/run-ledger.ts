import type { Common } from '@ethereumjs/common';
import { AppError } from '../../kit/errors.ts';
import { failureOf } from '../../kit/failure.ts';
import type { OpenExecution } from './evm-chain.ts';
import { followPool } from '../evm/pool/follow-pool.ts';
import type { Leasing } from '../../engine/log/leases.ts';
import type { ConnectionLimits } from '../../kit/connection-limits.ts';
import type { Logger } from '../../kit/logger.ts';
import type { Cadence } from './cadence.ts';
import type { Chain } from './chain.ts';
import { openPorts } from './open-ports.ts';
import { createCometServer } from './comet/server.ts';
import { type GenesisState, type ChainSources, keepUp, type LedgerLog, openChain } from './log-fold.ts';
import type { RestOptions } from './rest/answer.ts';
import { decodeTransaction, type SentTransaction } from '../chain/sign/transaction-codec.ts';
import { createRestServer } from './rest/server.ts';
import { submitEthereum } from './submit-ethereum.ts';
import type { TransactionResult } from './receipt.ts';
import { Sealer } from './sealer.ts';
import { keepCheckpoints, type Snapshots } from './snapshots.ts';

/** The parts that a ledger runs on. */
export type LedgerOptions = Readonly<{
  log: LedgerLog;
  /** Without it this process seals, and only the log's expected sequence excludes other sealers. */
  leases?: Leasing;
  /** Is called only when the log has no chain yet. */
  beginning: () => GenesisState;
  /** What executes blocks. */
  execution: OpenExecution;
  /** Saved states of the chain for a quick start; without them each start reads the complete log. */
  snapshots?: Snapshots;
  /** Drops the states up to a height, of which none is read any more; without it all of them stay. */
  forget?: (height: number) => Promise<unknown>;
  /** The source of blocks; without it all of them are held in memory. */
  blocks?: ChainSources['blocks'];
  host: string;
  lcdPort: number;
  /** Without it the ledger has no CometBFT RPC. */
  rpcPort?: number;
  /** Connections to each port, where they differ from the usual ones. */
  connections?: Partial<ConnectionLimits>;
  /** The current address of the chain's JSON-RPC; its catalogue is shown beside the chain REST. */
  jsonRpc?: () => string | undefined;
  logger: Logger;
  signal: AbortSignal;
  rest?: RestOptions;
}>;

/** Rules, chain id and base fee of the next block of the virtual machine. */
export type EthereumTerms = Readonly<{ common: Common; chainId: bigint; baseFee: bigint }>;

/** A running ledger. */
export type Ledger = Readonly<{
  /** Of its chain REST. */
  url: string;
  /** Of its CometBFT RPC. */
  rpcUrl: string | undefined;
  /**
   * Submits the bytes of a signed transaction; settles once its block is in the log. Code 0: it succeeded.
   *
   * `at` is the time of its block (unix milliseconds), which no earlier block may have passed. Fails with
   * `INVALID_ARGUMENT` when the chain refuses it; the same bytes again return the same receipt.
   */
  submit: (bytes: Uint8Array, at?: number) => Promise<TransactionResult>;
  /**
   * Submits the bytes of a signed transaction of the virtual machine, as its JSON-RPC does; settles once a block has
   * it. Fails with `DEADLINE` where none takes it in a minute.
   */
  submitEthereum: (raw: Uint8Array) => Promise<TransactionResult>;
  /** What such a transaction is made by. */
  ethereumTerms: () => EthereumTerms;
  /**
   * The account number and sequence of an account's next signature; undefined where the chain does not know the
   * account.
   */
  signerInfo: (address: string) => Readonly<{ number: number; sequence: number }> | undefined;
  /** Ids of the actions that any of some accounts registered, oldest first. */
  actionsOf: (creators: ReadonlySet<string>) => readonly string[];
  /** From now on blocks follow one another as a cadence has it. */
  keep: (cadence: Cadence) => void;
  /** How far the chain is. */
  status: () => Readonly<{ chainId: string; startedAt: string; height: number; time: string; transactions: number }>;
  /** The obstacles to sealing blocks as intended, in sentences. */
  obstacles: () => readonly string[];
  /** Rejects when the chain can be sealed or read no more, whatever is tried again; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

/**
 * Runs the small chain of the local network: folds its log, then serves its REST and seals blocks.
 *
 * Shows nothing that is not in the log. Fails with `UNAVAILABLE` when the port is in use.
 *
 * @example
 * const { url, submit } = await runLedger({ log, beginning, host: '127.0.0.1', lcdPort: 1317, logger, signal })
 */
export async function runLedger(options: LedgerOptions): Promise<Ledger> {
  const { log, leases, logger } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const { beginning, execution, blocks, snapshots } = options;
  const chain = await openChain(log, { beginning, execution, blocks, snapshots }, signal);
  const checkpoints = keepCheckpoints(chain, options);
  const sealer = new Sealer(chain, log, logger);
  const serving = { chain: () => chain, sealer, jsonRpc: options.jsonRpc ?? (() => undefined) };
  const { host, lcdPort, rpcPort } = options;
  const rest = { server: createRestServer(serving, options.rest ?? {}, logger), host, port: lcdPort, ...restPosition };
  const rpc =
    rpcPort === undefined ? [] : [{ server: createCometServer(serving, logger), host, port: rpcPort, ...rpcPosition }];
  const opened = await openPorts([rest, ...rpc], options.connections);
  const [url = '', rpcUrl] = opened.urls;
  const sealing = leases ? leases.hold('ledger', signal, (held) => sealer.run(held.signal)) : sealer.run(signal);
  const following = keepUp(
    chain,
    { log, logger, onBlock: () => sealer.submissions.settle(Date.now()), onLost: () => sealer.endLost() },
    signal,
  );
  const pooling = followPool(log, { ...sealer.submissions.follower, log: logger, signal });
  const failed = failureOf([sealing, following, pooling], signal);
  logger.info({ url, height: chain.height }, 'ledger runs');
  return {
    url,
    rpcUrl,
    submit: async (bytes, at) => await sealer.receiptOf(decoded(bytes), at),
    submitEthereum: async (raw) => await submitEthereum({ chain, log, signal }, raw),
    ethereumTerms: () => ({ ...chain.evm.bounds, ...chain.evm.next }),
    signerInfo: (address) => sealer.submissions.signerInfo(address),
    actionsOf: (creators) => chain.history.registeredBy(creators),
    keep: (cadence) => sealer.keep(cadence),
    status: () => statusOf(chain),
    obstacles: () => sealer.obstacles(),
    failed,
    stop: async () => {
      own.abort();
      sealer.submissions.close();
      await Promise.allSettled([sealing, following, pooling]);
      await checkpoints.done();
      await opened.close();
    },
  };
}

const restPosition = { what: 'the chain REST', remedy: 'Stop what uses it, or set LCD_PORT.' };
const rpcPosition = { what: 'the chain’s CometBFT RPC', remedy: 'Stop what uses it, or set RPC_PORT.' };

function decoded(bytes: Uint8Array): SentTransaction {
  try {
    return decodeTransaction(bytes);
  } catch (caught) {
    throw new AppError('INVALID_ARGUMENT', `The ledger cannot read the transaction: ${String(caught)}`, {
      cause: caught,
    });
  }
}

function statusOf(chain: Chain): ReturnType<Ledger['status']> {
  const { chainId, startedAt, height, time } = chain;
  return { chainId, startedAt, height, time, transactions: chain.transactionCount };
}
