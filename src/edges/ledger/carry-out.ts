import { type Refusal, refusalOf } from '../../commands/ledger/ante.ts';
import { type BlockContext, type Changes, type LedgerState, withChanges } from '../../commands/ledger/chain.ts';
import { endBlock, type Executed, execute } from '../../commands/ledger/execute.ts';
import type { Fact } from '../../events/catalogue.ts';
import type { SentTransaction } from '../chain/sign/transaction-codec.ts';

type LoggedTransaction = Fact<'BlockSealed'>['data']['transactions'][number];

/** The rules' result for a block. */
type CarriedOut = Readonly<{
  taken: readonly SentTransaction[];
  /** The results of the accepted transactions. */
  executed: readonly Executed[];
  /** The accepted transactions in their form in the log. */
  logged: readonly LoggedTransaction[];
  /** Why the others were not, by hash. */
  refusals: ReadonlyMap<string, Refusal>;
  ended: ReturnType<typeof endBlock>;
  /** Of each transaction, then of the end of the block. */
  changes: readonly Changes[];
}>;

/** Bytes of the rules' transactions in one block as the log has them; the rest of the fact is the machine's. */
const mostRulesBytes = 3_000_000;

/**
 * Carries out what the rules decide of a block, each transaction on the state that those before it leave; pure.
 *
 * Leaves out what that state does not carry while the block is drafted, and what comes after `mostRulesBytes`; of a
 * block of the log nothing is left out.
 */
export function carryOut(
  before: LedgerState,
  { block, pending, isDraft }: Readonly<{ block: BlockContext; pending: readonly SentTransaction[]; isDraft: boolean }>,
): CarriedOut {
  let state = before;
  const used: SentTransaction[] = [];
  const executed: Executed[] = [];
  const logged: LoggedTransaction[] = [];
  let bytes = 0;
  const refusals = new Map<string, Refusal>();
  for (const sent of pending) {
    const ante = { height: block.height, ahead: 0 };
    const refusal = isDraft ? refusalOf(state, sent.transaction, ante) : undefined;
    if (refusal) {
      refusals.set(sent.hash, refusal);
      continue;
    }
    const one = execute(state, sent.transaction, block);
    const entry = loggedTransaction(sent, one);
    bytes += encodedBytes(entry);
    if (isDraft && used.length > 0 && bytes > mostRulesBytes) break;
    state = withChanges(state, one.changes);
    used.push(sent);
    executed.push(one);
    logged.push(entry);
  }
  const ended = endBlock(state, block);
  const changes = [...executed.map((one) => one.changes), ended.changes];
  return { taken: used, executed, logged, refusals, ended, changes };
}

function loggedTransaction(
  { hash, bytes }: Pick<SentTransaction, 'hash' | 'bytes'>,
  { code, log, events }: Executed,
): LoggedTransaction {
  const raw = Buffer.from(bytes).toString('base64');
  return { hash, code, log, events: events.map(loggedEvent), messages: [], raw };
}

function loggedEvent({ type, attributes }: Executed['events'][number]): LoggedTransaction['events'][number] {
  return { type, attributes: [...attributes] };
}

/** Bytes that a part of a fact takes in a message of the broker. */
export function encodedBytes(part: unknown): number {
  return Buffer.byteLength(JSON.stringify(part)) + 1;
}
