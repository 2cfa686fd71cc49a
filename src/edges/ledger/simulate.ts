import type { ChainEvent } from '../../commands/ledger/draft.ts';
import { execute, type Executed } from '../../commands/ledger/execute.ts';
import { TransactionFailed } from '../../commands/ledger/failure.ts';
import { gasUsed } from '../../commands/ledger/messages.ts';
import { distance } from '../chain/sign/addresses.ts';
import { decodeTransaction, type SentTransaction, UnreadableTransaction } from '../chain/sign/transaction-codec.ts';
import type { Chain } from './chain.ts';
import { wrongAddress } from './check-transaction.ts';
import { fail } from './rest/answer.ts';
import { responseData } from './rest/transactions.ts';
import type { Sealer } from './sealer.ts';

/** The result that a transaction would have: the gas that it would use, its messages' responses and its events. */
export type Simulated = Readonly<{ gasUsed: number; data: Uint8Array; events: readonly ChainEvent[] }>;

/** The chain as it is now, and the sealer, which knows the transactions that wait. */
export type SimulatedOn = Readonly<{ chain: Chain; sealer: Sealer }>;

/**
 * Executes a transaction on the chain as it is now, without its signature; stores nothing.
 *
 * Fails with `RestError` and the chain's words where the transaction would fail.
 */
export function simulate({ chain, sealer }: SimulatedOn, bytes: Uint8Array): Simulated {
  const { transaction } = decoded(bytes);
  const { messages, signer, sequence } = transaction;
  if (messages.length === 0) fail(2, 'must contain at least one message: invalid request');
  const wrong = wrongAddress({ transaction });
  if (wrong) fail(2, wrong.log);
  const gasLimit = gasUsed(messages, true);
  const expected = sealer.submissions.signerInfo(signer)?.sequence;
  if (expected === undefined) fail(2, `fee payer address: ${signer} does not exist: unknown address`);
  if (expected !== sequence)
    fail(2, `account sequence mismatch, expected ${expected}, got ${sequence}: incorrect account sequence`);
  const block = { height: chain.height + 1, time: new Date().toISOString(), distance };
  const { code, log, events } = paid(() => execute(chain.history.state, { ...transaction, gasLimit }, block));
  if (code !== 0) fail(2, `${log} with gas used: '${gasUsed(messages, false)}'`);
  return { gasUsed: gasLimit, data: Buffer.from(responseData({ events, messages }), 'hex'), events };
}

/** A simulation is not checked before, so its signer may lack the fee. */
function paid(run: () => Executed): Executed {
  try {
    return run();
  } catch (caught) {
    if (caught instanceof TransactionFailed) return fail(2, caught.message);
    throw caught;
  }
}

function decoded(bytes: Uint8Array): SentTransaction {
  try {
    return decodeTransaction(bytes, { isSimulated: true });
  } catch (caught) {
    if (caught instanceof UnreadableTransaction) return fail(3, caught.message);
    throw caught;
  }
}
