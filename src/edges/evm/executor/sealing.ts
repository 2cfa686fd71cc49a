import { type Block, type BlockHeader, createBlock, type HeaderData } from '@ethereumjs/block';
import { Account, bytesToHex, createAddressFromString } from '@ethereumjs/util';
import { Bloom } from '@ethereumjs/vm';
import type { LedgerRecord } from '../../../commands/ledger/records.ts';
import { RecordStore, takeReported } from '../contracts/record-store.ts';
import { BlockBuilder } from './block-builder.ts';
import { blockRoots } from './blocks.ts';
import type { ChainConfig } from './state/genesis.ts';
import type { Machine } from './machine.ts';
import type { Hex, Outcome } from './outcome.ts';
import { noLimits, type SealingLimits } from './sealing-limits.ts';
import { openBlock, requestsHash } from './system-calls.ts';

/** What transactions of the rules changed: balances, nonces and rows as they are afterwards. */
export type AccountsItem = Readonly<{
  kind: 'accounts';
  accounts: readonly Readonly<{ address: Hex; balance: bigint; nonce: bigint }>[];
  records?: readonly LedgerRecord[];
}>;

/** An item of a block; their order is that of the block. */
export type Item = Readonly<{ kind: 'transaction'; raw: Uint8Array }> | AccountsItem;

/** The sealer's decisions about a block; all else follows from its parent and its items. */
export type Attributes = Readonly<{
  /** Seconds. */
  timestamp: bigint;
  baseFee: bigint;
  gasLimit: bigint;
  coinbase: Hex;
  /** Limits of the sealer; a block of the log has been within them. */
  limits?: SealingLimits;
  extraData?: Uint8Array;
}>;

/** A block that was executed but is not stored. */
export type ExecutedBlock = Readonly<{ block: Block; outcomes: readonly Outcome[] }>;

/**
 * Executes items on top of a block and makes the block of them, on a machine whose state is the parent's.
 *
 * The new state is in the machine only; the same parent, attributes and items give the same block again.
 */
export async function sealBlock(
  config: ChainConfig,
  { vm, state }: Machine,
  { parent, attributes, items }: Readonly<{ parent: BlockHeader; attributes: Attributes; items: readonly Item[] }>,
): Promise<ExecutedBlock> {
  const { common } = vm;
  const fields = headerFields(parent, attributes);
  const environment = createBlock({ header: fields }, { common });
  const { limits = noLimits } = attributes;
  const builder = new BlockBuilder({ machine: { vm, state }, environment, limits }, config.feesTo);
  const outcomes: Outcome[] = [];
  await vm.evm.journal.checkpoint();
  await openBlock(vm, environment.header);
  await state.takeTouched();
  for (const item of items)
    outcomes.push(item.kind === 'transaction' ? await builder.take(item.raw) : await changed({ vm, state }, item));
  const requests = await requestsHash(vm, builder.results);
  await vm.evm.journal.commit();
  const receipts = builder.results.map(({ receipt }) => receipt);
  const bloom = new Bloom();
  for (const result of builder.results) bloom.or(result.bloom);
  const header = {
    ...fields,
    ...blockRoots(builder.transactions, receipts),
    stateRoot: await state.getStateRoot(),
    logsBloom: bloom.bitvector,
    gasUsed: builder.gasUsed,
    ...(requests && { requestsHash: requests }),
  };
  const block = createBlock({ header, transactions: [...builder.transactions], withdrawals: [] }, { common });
  return { block, outcomes };
}

async function changed({ vm, state }: Pick<Machine, 'vm' | 'state'>, item: AccountsItem): Promise<Outcome> {
  await applyAccounts({ vm, state }, item);
  await takeReported(state);
  return { kind: 'changed', touched: await state.takeTouched() };
}

/** Writes what transactions of the rules changed. */
export async function applyAccounts(
  { vm, state }: Pick<Machine, 'vm' | 'state'>,
  { accounts, records = [] }: AccountsItem,
): Promise<void> {
  for (const { address, balance, nonce } of accounts) {
    const of = createAddressFromString(address);
    const { storageRoot, codeHash } = (await state.getAccount(of)) ?? new Account();
    await vm.evm.journal.putAccount(of, new Account(nonce, balance, storageRoot, codeHash));
  }
  await new RecordStore(state).write(records);
  await vm.evm.journal.cleanup();
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
  const [made, reported] = [executed.header, expected.header];
  if (bytesToHex(made.hash()) === bytesToHex(reported.hash())) return undefined;
  for (const field of ['stateRoot', 'receiptTrie', 'transactionsTrie', 'logsBloom', 'gasUsed'] as const) {
    if (String(made[field]) !== String(reported[field]))
      return `${field} is ${show(made[field])}, not ${show(reported[field])}`;
  }
  return `its hash is ${bytesToHex(made.hash())}, not ${bytesToHex(reported.hash())}`;
}

const show = (value: Uint8Array | bigint): string => (typeof value === 'bigint' ? String(value) : bytesToHex(value));
