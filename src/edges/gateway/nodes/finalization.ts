import type { CascadeChain } from '../../chain/files/chain.ts';
import { wait } from '../../../kit/wait.ts';
import { untilAnswered } from './patience.ts';

/** Options of the search for an action's finalization; the chain is queried every `pollMs`, sooner at first. */
export type Finalizing = Readonly<{ txHash: string; pollMs: number; signal: AbortSignal }>;

/** A transaction that is in no block after so many will not come any more. */
const mostBlocks = 10;
/** The first pauses are so many times shorter: a node reports a transaction whose block it has seen. */
const shorterAtFirst = 20;
/** An action that is pending so many blocks after its transaction was carried out was not finalized by it. */
const blocksAfterwards = 2;

/** Returns whether the chain has an action done or approved; a chain that does not answer is waited for. */
export async function isFinalized(chain: CascadeChain, id: string, signal: AbortSignal): Promise<boolean> {
  const state = (await untilAnswered(async () => await chain.action(id), signal))?.record.chainState;
  return state === 'done' || state === 'approved';
}

/**
 * Waits until the chain has an action finalized; returns false where it refused the transaction that the node names, so
 * that another one did it.
 *
 * A node reports a transaction that it has *sent*. Fails with the reason where the chain refuses it, where the action
 * can no longer be finalized, and where it is pending ten blocks later; a chain that does not answer or makes no blocks
 * is waited for.
 */
export async function awaitFinalization(
  chain: CascadeChain,
  id: string,
  { txHash, pollMs, signal }: Finalizing,
): Promise<boolean> {
  const { height: from } = await untilAnswered(chain.head, signal);
  let pauseMs = pollMs / shorterAtFirst;
  for (let sealedAt = Infinity; ;) {
    // The height comes first: what is pending after it was so at that height.
    const { height } = await untilAnswered(chain.head, signal);
    const latest = (await untilAnswered(async () => await chain.action(id), signal))?.record.chainState;
    const sealed = await chain.outcome(txHash).catch(() => undefined);
    const state = latest === 'pending' && sealed ? await stateSince(chain, id, sealed) : latest;
    if (state === 'done' || state === 'approved') return sealed === undefined || sealed.code === 0;
    if (state !== 'pending') throw new Error(`the action is ${state ?? 'unknown'} on the chain`);
    if (sealed && sealed.code !== 0) throw new Error(`the chain refused its transaction with code ${sealed.code}`);
    if (sealed) sealedAt = Math.min(sealedAt, height);
    if (height - from >= mostBlocks || height - sealedAt >= blocksAfterwards)
      throw new Error(`the action is still pending ${height - from} blocks after its transaction was sent`);
    await wait(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, pollMs);
    signal.throwIfAborted();
  }
}

/**
 * The state of an action that the latest answer has pending though its transaction was carried out: that answer may be
 * of an older block, so the chain is asked of the transaction's own.
 */
async function stateSince(
  chain: CascadeChain,
  id: string,
  { code, height }: Readonly<{ code: number; height: number }>,
): Promise<string> {
  if (code !== 0) return 'pending';
  const then = await chain.action(id, height).catch(() => undefined);
  const state = then?.record.chainState;
  return state === 'done' || state === 'approved' ? state : 'pending';
}
