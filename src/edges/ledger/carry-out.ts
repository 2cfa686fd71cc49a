import { type Refusal, refusalOf } from '../../commands/ledger/ante.ts';
import { type Block, type Changes, type ChainState, withChanges } from '../../commands/ledger/chain.ts';
import { endBlock, type Executed, execute } from '../../commands/ledger/execute.ts';
import type { SentTransaction } from '../cosmos/transaction-codec.ts';

/** What the rules make of a block. */
type CarriedOut = Readonly<{
  taken: readonly SentTransaction[];
  /** Of each that was taken. */
  executed: readonly Executed[];
  /** Why the others were not, by hash. */
  refusals: ReadonlyMap<string, Refusal>;
  ended: ReturnType<typeof endBlock>;
  /** Of each transaction, then of the end of the block. */
  changes: readonly Changes[];
}>;

/**
 * Carries out what the rules decide of a block, each transaction on the state that those before it leave; pure.
 *
 * Leaves out what that state does not carry while the block is drafted; of a block of the log nothing is left out.
 */
export function carryOut(
  before: ChainState,
  { block, pending, isDraft }: Readonly<{ block: Block; pending: readonly SentTransaction[]; isDraft: boolean }>,
): CarriedOut {
  let state = before;
  const taken: SentTransaction[] = [];
  const executed: Executed[] = [];
  const refusals = new Map<string, Refusal>();
  for (const sent of pending) {
    const ante = { height: block.height, ahead: 0 };
    const refusal = isDraft ? refusalOf(state, sent.transaction, ante) : undefined;
    if (refusal) {
      refusals.set(sent.hash, refusal);
      continue;
    }
    const one = execute(state, sent.transaction, block);
    state = withChanges(state, one.changes);
    taken.push(sent);
    executed.push(one);
  }
  const ended = endBlock(state, block);
  return { taken, executed, refusals, ended, changes: [...executed.map(({ changes }) => changes), ended.changes] };
}
