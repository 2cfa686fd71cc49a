import type { Message } from '../../commands/ledger/messages.ts';
import { failureOf } from '../kit/failure.ts';
import { hostPort } from '../kit/net-address.ts';
import type { Leasing } from '../log/leasing.ts';
import type { Logger } from '../kit/logger.ts';
import type { Chain } from './chain.ts';
import { listen } from './listening.ts';
import { type Beginning, keepUp, type LedgerLog, openChain } from './log-fold.ts';
import type { RestOptions } from './rest/answer.ts';
import { createRestServer } from './rest/server.ts';
import { type Receipt, Sealer } from './sealer.ts';

/** What a ledger runs on. */
export type LedgerOptions = Readonly<{
  log: LedgerLog;
  /** Without it this process seals, and the log's expected sequence alone keeps others out. */
  leases?: Leasing;
  /** Asked only when the log has no chain yet. */
  beginning: () => Beginning;
  host: string;
  lcdPort: number;
  logger: Logger;
  signal: AbortSignal;
  rest?: RestOptions;
}>;

/** A running ledger. */
export type Ledger = Readonly<{
  /** Of its chain REST. */
  url: string;
  /** Puts messages of one signer into a transaction; settles once its block is in the log. Code 0: carried out. */
  submit: (...messages: readonly Message[]) => Promise<Receipt>;
  /** The same with the time of its block (unix milliseconds), which no earlier block may have passed. */
  submitAt: (at: number, ...messages: readonly Message[]) => Promise<Receipt>;
  /** How far the chain is. */
  status: () => Readonly<{ chainId: string; startedAt: string; height: number; time: string; transactions: number }>;
  /** Rejects when the chain can be sealed or read no more, whatever is tried again; never resolves. */
  failed: Promise<never>;
  stop: () => Promise<void>;
}>;

/**
 * Runs the small chain of the local network: folds its log, then serves its REST and seals blocks.
 *
 * Nothing is shown that is not in the log. Fails with `UNAVAILABLE` when the port is taken.
 *
 * @example const { url, submit } = await runLedger({ log, beginning, host: '127.0.0.1', lcdPort: 1317, logger, signal })
 */
export async function runLedger(options: LedgerOptions): Promise<Ledger> {
  const { log, leases, logger } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const chain = await openChain(log, options.beginning, signal);
  const server = createRestServer(() => chain, options.rest ?? {}, logger);
  const place = { what: 'the chain REST', remedy: 'Stop what uses it, or set LCD_PORT.' };
  const port = await listen(server, { host: options.host, port: options.lcdPort, ...place });
  const url = `http://${hostPort(options.host, port)}`;
  const sealer = new Sealer(chain, log, logger);
  const sealing = leases ? leases.hold('ledger', signal, (held) => sealer.run(held.signal)) : sealer.run(signal);
  const following = keepUp(chain, log, signal);
  const failed = failureOf([sealing, following], signal);
  logger.info({ url, height: chain.height }, 'ledger runs');
  return {
    url,
    submit: (...messages) => sealer.submit(messages),
    submitAt: (at, ...messages) => sealer.submit(messages, at),
    status: () => statusOf(chain),
    failed,
    stop: async () => {
      own.abort();
      sealer.close();
      await Promise.allSettled([sealing, following]);
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function statusOf(chain: Chain): ReturnType<Ledger['status']> {
  const { chainId, startedAt, height, time } = chain;
  return { chainId, startedAt, height, time, transactions: chain.transactions.count };
}
