import { pino } from 'pino';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { type Ledger, runLedger } from '../../../src/edges/ledger/run-ledger.ts';
import { executeInMemory } from '../../support/histories/memory-nodes.ts';
import type { RestOptions } from '../../../src/edges/ledger/rest/answer.ts';
import { signerOf, type Message } from '../../../src/commands/ledger/messages.ts';
import { signedTransaction } from '../../../src/edges/chain/sign/wallet.ts';
import type { TransactionResult } from '../../../src/edges/ledger/receipt.ts';
import { localBeginning } from '../../../src/edges/local-network/beginning.ts';
import { type Cast, castOf, peopleOf } from '../../../src/edges/local-network/cast.ts';
import { playerOf } from '../../../src/edges/local-network/player.ts';
import { timeline } from '../../../src/edges/local-network/timeline.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

export const seed = 7;
export const cast: Cast = castOf(seed);
export const silent = pino({ level: 'silent' });

/** An answer of the chain REST. */
export type Answer = Readonly<{ status: number; headers: Headers; body: unknown }>;

/** The log of a network of its own, on the run's broker. */
export async function freshLog(): Promise<AsyncDisposable & { log: Log }> {
  const network = freshNetwork();
  const nc = await connectNats({ ...testNats(), name: 'ledger test' });
  await ensureStreams(nc, network);
  return { log: createLog(nc, network), [Symbol.asyncDispose]: () => nc.close() };
}

/** A ledger on a log; it stops with the test. */
export async function startLedger(log: Log, rest: RestOptions = {}): Promise<Ledger & AsyncDisposable> {
  const { signal } = new AbortController();
  const beginning = () => localBeginning(seed, Date.now());
  const ledger = await runLedger({
    execution: executeInMemory,
    log,
    beginning,
    host: '127.0.0.1',
    lcdPort: 0,
    logger: silent,
    signal,
    rest,
  });
  return { ...ledger, [Symbol.asyncDispose]: ledger.stop };
}

/** Sends messages signed by whoever of the cast they name; settles with their block. */
export async function send(ledger: Ledger, messages: readonly Message[], at?: number): Promise<TransactionResult> {
  const signer = messages[0] ? signerOf(messages[0]) : '';
  const person = peopleOf(cast).find(({ account }) => account === signer) ?? cast.bystander;
  const info = ledger.signerInfo(person.account) ?? { number: 0, sequence: 0 };
  const { chainId } = ledger.status();
  return await ledger.submit(signedTransaction(person.key, messages, { chainId, denom: 'ulume', ...info }), at);
}

/** Plays the short history of the local network's timeline, or the beginning of it. */
export async function playHistory(ledger: Ledger, most = Infinity): Promise<void> {
  const startedAt = Date.parse(ledger.status().startedAt);
  const player = playerOf({ ledger, seed });
  let left = most;
  for (const { atMs, deed, isHistory } of timeline(seed)) {
    if (!isHistory || left-- <= 0) break;
    await player.play(deed, startedAt + atMs);
  }
}

/** Asks the chain REST; redirects are not followed. */
export async function ask(ledger: Ledger, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(ledger.url + path, { redirect: 'manual', ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json' && text !== '';
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}
