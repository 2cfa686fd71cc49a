import { type Block, type BlockHeader, createBlock, type HeaderData } from '@ethereumjs/block';
import { createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import { Account, bytesToHex, createAddressFromString } from '@ethereumjs/util';
import { Bloom, runTx, type RunTxResult, type VM } from '@ethereumjs/vm';
import { passes, toAppError } from '../../../commands/errors.ts';
import { blockRoots } from './blocks.ts';
import type { ChainConfig } from './genesis.ts';
import type { Machine } from './machine.ts';
import type { LedgerRecord } from '../../../commands/ledger/records.ts';
import { RecordStore, takeTold } from '../contracts/record-store.ts';
import { executedTransaction, type Hex, type Outcome } from './outcome.ts';
import type { State } from './state.ts';
import { openBlock, requestsHash } from './system-calls.ts';

/** What a block is made of, in its order: EVM transactions and what transactions of the rules changed. */
export type Item =
  | Readonly<{ kind: 'transaction'; raw: Uint8Array }>
  /** Balances, nonces and rows as they are afterwards. */
  | Readonly<{
      kind: 'accounts';
      accounts: readonly Readonly<{ address: Hex; balance: bigint; nonce: bigint }>[];
      records?: readonly LedgerRecord[];
    }>;

/** What whoever seals decides about a block; all else follows from its parent and its items. */
export type Attributes = Readonly<{
  /** Seconds. */
  timestamp: bigint;
  baseFee: bigint;
  gasLimit: bigint;
  coinbase: Hex;
  /** Bytes of transactions and receipts from which on no further item is taken. */
  mostBytes?: number;
  extraData?: Uint8Array;
}>;

/** A block that was executed but is not stored. */
export type Executed = Readonly<{ block: Block; outcomes: readonly Outcome[] }>;

/**
 * Executes items on top of a block and makes the block of them, on a machine that stands at the parent's state.
 *
 * The state written so lies in the machine alone; the same parent, attributes and items give the same block again.
 */
export async function sealBlock(
  config: ChainConfig,
  { vm, state }: Machine,
  { parent, attributes, items }: Readonly<{ parent: BlockHeader; attributes: Attributes; items: readonly Item[] }>,
): Promise<Executed> {
  const { common } = vm;
  const fields = headerFields(parent, attributes);
  const environment = createBlock({ header: fields }, { common });
  const draft = new Draft({ vm, state }, environment, config, attributes);
  const outcomes: Outcome[] = [];
  await vm.evm.journal.checkpoint();
  await openBlock(vm, environment.header);
  await state.takeTouched();
  for (const item of items) outcomes.push(await draft.take(item));
  const requests = await requestsHash(vm, draft.results);
  await vm.evm.journal.commit();
  const receipts = draft.results.map(({ receipt }) => receipt);
  const bloom = new Bloom();
  for (const result of draft.results) bloom.or(result.bloom);
  const header = {
    ...fields,
    ...(await blockRoots(draft.transactions, receipts)),
    stateRoot: await state.getStateRoot(),
    logsBloom: bloom.bitvector,
    gasUsed: draft.gasUsed,
    ...(requests && { requestsHash: requests }),
  };
  const block = createBlock({ header, transactions: [...draft.transactions], withdrawals: [] }, { common });
  return { block, outcomes };
}

/** Writes what transactions of the rules changed. */
export async function applyAccounts(
  { vm, state }: Pick<Machine, 'vm' | 'state'>,
  { accounts, records = [] }: Extract<Item, { kind: 'accounts' }>,
): Promise<void> {
  for (const { address, balance, nonce } of accounts) {
    const of = createAddressFromString(address);
    const { storageRoot, codeHash } = (await state.getAccount(of)) ?? new Account();
    await vm.evm.journal.putAccount(of, new Account(nonce, balance, storageRoot, codeHash));
  }
  await new RecordStore(state).write(records);
  await vm.evm.journal.cleanup();
}

/** A block while its items are executed. */
class Draft {
  readonly #vm: VM;
  readonly #state: State;
  readonly #environment: Block;
  readonly #config: ChainConfig;
  readonly #attributes: Attributes;
  #bytes = 0;
  gasUsed = 0n;
  readonly transactions: TypedTransaction[] = [];
  readonly results: RunTxResult[] = [];

  constructor(on: Pick<Machine, 'vm' | 'state'>, environment: Block, config: ChainConfig, attributes: Attributes) {
    this.#vm = on.vm;
    this.#state = on.state;
    this.#environment = environment;
    this.#config = config;
    this.#attributes = attributes;
  }

  async take(item: Item): Promise<Outcome> {
    if (this.#bytes >= (this.#attributes.mostBytes ?? Number.POSITIVE_INFINITY)) return { kind: 'left' };
    if (item.kind === 'transaction') return await this.#execute(item.raw);
    await applyAccounts({ vm: this.#vm, state: this.#state }, item);
    await takeTold(this.#state);
    return { kind: 'changed', touched: await this.#state.takeTouched() };
  }

  async #execute(raw: Uint8Array): Promise<Outcome> {
    try {
      const block = this.#environment;
      const tx = createTxFromRLP(raw, { common: this.#vm.common });
      if (this.gasUsed + tx.gasLimit > block.header.gasLimit) return { kind: 'left' };
      const given = { tx, block, blockGasUsed: this.gasUsed, skipHardForkValidation: true };
      const result = await runTx(this.#vm, given);
      if (this.#config.feesTo === 'coinbase') await this.#payBaseFee(result);
      const transaction = executedTransaction(tx, result, block.header);
      this.gasUsed += result.totalGasSpent;
      this.#bytes += raw.length + transaction.receipt.length;
      this.transactions.push(tx);
      this.results.push(result);
      const told = await takeTold(this.#state);
      const { gasLimit } = tx;
      return { kind: 'executed', transaction, gasLimit, touched: await this.#state.takeTouched(), ...told };
    } catch (caught) {
      // A store out of reach is no fault of the transaction.
      if (passes(caught)) throw caught;
      await takeTold(this.#state);
      await this.#state.takeTouched();
      return { kind: 'refused', reason: toAppError(caught).message };
    }
  }

  async #payBaseFee({ totalGasSpent }: RunTxResult): Promise<void> {
    const { coinbase } = this.#environment.header;
    const account = (await this.#state.getAccount(coinbase)) ?? new Account();
    account.balance += totalGasSpent * this.#attributes.baseFee;
    await this.#vm.evm.journal.putAccount(coinbase, account);
    await this.#vm.evm.journal.cleanup();
  }
}

function headerFields(parent: BlockHeader, attributes: Attributes): HeaderData {
  const { timestamp, baseFee, gasLimit, coinbase, extraData } = attributes;
  return {
    parentHash: parent.hash(),
    number: parent.number + 1n,
    timestamp,
    gasLimit,
    baseFeePerGas: baseFee,
    coinbase,
    ...(extraData && { extraData }),
    parentBeaconBlockRoot: new Uint8Array(32),
    excessBlobGas: 0n,
    blobGasUsed: 0n,
  };
}

/** Why a block that was executed is not the one that it should be; undefined when it is. */
export function difference(executed: Block, expected: Block): string | undefined {
  const [made, told] = [executed.header, expected.header];
  if (bytesToHex(made.hash()) === bytesToHex(told.hash())) return undefined;
  for (const field of ['stateRoot', 'receiptTrie', 'transactionsTrie', 'logsBloom', 'gasUsed'] as const) {
    if (String(made[field]) !== String(told[field]))
      return `${field} is ${show(made[field])}, not ${show(told[field])}`;
  }
  return `its hash is ${bytesToHex(made.hash())}, not ${bytesToHex(told.hash())}`;
}

const show = (value: Uint8Array | bigint): string => (typeof value === 'bigint' ? String(value) : bytesToHex(value));
