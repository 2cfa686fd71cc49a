import type { Block } from '@ethereumjs/block';
import { createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import { EVM } from '@ethereumjs/evm';
import { Account } from '@ethereumjs/util';
import { runTx, type RunTxResult, type VM } from '@ethereumjs/vm';
import { passes, toAppError } from '../../../kit/errors.ts';
import { takeReported } from '../contracts/record-store.ts';
import type { ChainConfig } from './state/genesis.ts';
import { loggedBytes } from './logged-receipt.ts';
import type { Machine } from './machine.ts';
import { executedTransaction, type Outcome } from './outcome.ts';
import { type SealingLimits, stopwatch, slowReason, TooLong } from './sealing-limits.ts';
import type { State } from './state/state.ts';

/** Reads of the state and jumps between two readings of the clock. */
const stepsPerCheck = 16;

type Executing = Readonly<{ machine: Pick<Machine, 'vm' | 'state'>; environment: Block; limits: SealingLimits }>;

type Ran = Readonly<{ result: RunTxResult; outcome: Extract<Outcome, { kind: 'executed' }> }>;

/** A block while its transactions are executed: what does not fit is undone and left out. */
export class BlockBuilder {
  readonly #vm: VM;
  readonly #state: State;
  readonly #environment: Block;
  readonly #feesTo: ChainConfig['feesTo'];
  readonly #limits: SealingLimits;
  readonly #elapsedMs = stopwatch();
  /** Nonces of senders from which on theirs have to wait: one of them was left or refused. */
  readonly #waitFrom = new Map<string, bigint>();
  #bytes = 0;
  gasUsed = 0n;
  readonly transactions: TypedTransaction[] = [];
  readonly results: RunTxResult[] = [];

  constructor({ machine, environment, limits }: Executing, feesTo: ChainConfig['feesTo']) {
    this.#vm = machine.vm;
    this.#state = machine.state;
    this.#environment = environment;
    this.#feesTo = feesTo;
    this.#limits = limits;
  }

  /**
   * Executes a transaction, or returns why this block refuses it. Fails where a read of the state does for now: that
   * says nothing about the transaction.
   */
  async take(raw: Uint8Array): Promise<Outcome> {
    const depth = this.#state.depth;
    let [sender, nonce] = ['', 0n];
    try {
      const tx = createTxFromRLP(raw, { common: this.#vm.common });
      [sender, nonce] = [tx.getSenderAddress().toString(), tx.nonce];
      if (this.#hasNoRoom(tx) || nonce >= (this.#waitFrom.get(sender) ?? Infinity)) return this.#leave(sender, nonce);
      await this.#state.checkpoint();
      const executed = await this.#execute(tx);
      const bytes = loggedBytes(executed.outcome, raw);
      if (this.#bytes + bytes <= this.#limits.bytes) {
        await this.#state.commit();
        return this.#add(tx, executed, bytes);
      }
      await this.#undo(depth);
      if (this.transactions.length > 0) return this.#leave(sender, nonce);
      this.#waitFrom.set(sender, nonce);
      return { kind: 'refused', reason: `what it writes fits no block: ${bytes} bytes` };
    } catch (caught) {
      await this.#undo(depth);
      if (passes(caught)) throw caught;
      this.#waitFrom.set(sender, nonce);
      if (caught instanceof TooLong) return { kind: 'refused', reason: slowReason };
      return { kind: 'refused', reason: toAppError(caught).message };
    }
  }

  #hasNoRoom({ gasLimit }: TypedTransaction): boolean {
    if (this.gasUsed + gasLimit > this.#environment.header.gasLimit) return true;
    return this.transactions.length > 0 && this.#elapsedMs() > this.#limits.blockMs;
  }

  #leave(sender: string, nonce: bigint): Outcome {
    const from = this.#waitFrom.get(sender);
    if (from === undefined || nonce < from) this.#waitFrom.set(sender, nonce);
    return { kind: 'left' };
  }

  async #execute(tx: TypedTransaction): Promise<Ran> {
    const block = this.#environment;
    const { transactionMs } = this.#limits;
    const elapsedMs = stopwatch();
    let steps = 0;
    const guard = (ms = 0): void => {
      steps += 1;
      if ((ms >= 1 || steps % stepsPerCheck === 0) && elapsedMs() + ms > transactionMs)
        throw new TooLong('The transaction takes too long');
    };
    const run = () => runTx(this.#vm, { tx, block, blockGasUsed: this.gasUsed, skipHardForkValidation: true });
    const result = await this.#state.guarded(transactionMs === Infinity ? undefined : guard, run);
    if (this.#feesTo === 'coinbase') await payBaseFee(this.#vm, block, result);
    const transaction = executedTransaction(tx, result, block.header);
    const reported = await takeReported(this.#state);
    const { gasLimit } = tx;
    const touched = await this.#state.takeTouched();
    return { result, outcome: { kind: 'executed', transaction, gasLimit, touched, ...reported } };
  }

  #add(tx: TypedTransaction, { result, outcome }: Ran, bytes: number): Outcome {
    this.gasUsed += result.totalGasSpent;
    this.#bytes += bytes;
    this.transactions.push(tx);
    this.results.push(result);
    return outcome;
  }

  /** Puts the state back to where it was, whatever the transaction left open. */
  async #undo(depth: number): Promise<void> {
    await this.#state.revertTo(depth);
    const { evm } = this.#vm;
    if (evm instanceof EVM) evm.transientStorage.clear();
    evm.journal.cleanJournal();
    await takeReported(this.#state);
    await this.#state.takeTouched();
  }
}

/** Pays the base fee of a transaction to the block's coinbase, where a chain does not burn it. */
export async function payBaseFee(
  { evm, stateManager }: VM,
  { header: { coinbase, baseFeePerGas = 0n } }: Block,
  { totalGasSpent }: Pick<RunTxResult, 'totalGasSpent'>,
): Promise<void> {
  const account = (await stateManager.getAccount(coinbase)) ?? new Account();
  account.balance += totalGasSpent * baseFeePerGas;
  await evm.journal.putAccount(coinbase, account);
  await evm.journal.cleanup();
}
