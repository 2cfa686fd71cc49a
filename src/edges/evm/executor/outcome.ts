import type { BlockHeader } from '@ethereumjs/block';
import { isFeeMarket1559Tx, isBlob4844Tx, isEOACode7702Tx, type TypedTransaction } from '@ethereumjs/tx';
import { encodeReceipt, type RunTxResult } from '@ethereumjs/vm';
import type { ChainEvent } from '../../../commands/ledger/draft.ts';
import type { LedgerRecord } from '../../../commands/ledger/records.ts';
import type { ChangedAccount } from './state/state.ts';

/** Bytes as lower-case hex digits behind `0x`. */
export type Hex = `0x${string}`;

/** Bytes in hex. Without `toHex` of the platform the library joins them digit by digit: 32 bytes of memory for each. */
export const hexOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Hex =>
  `0x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`;

/** An event of a contract. */
export type ExecutedLog = Readonly<{ address: Hex; topics: readonly Hex[]; data: Hex }>;

/** A transaction and its result; plain data. */
export type ExecutedTransaction = Readonly<{
  hash: Hex;
  type: number;
  from: Hex;
  /** Undefined where it makes a contract. */
  to: Hex | undefined;
  /** Of the contract that it made. */
  contractAddress: Hex | undefined;
  /** Undefined before Byzantium, where receipts hold the state's root instead. */
  succeeded: boolean | undefined;
  stateRoot: Hex | undefined;
  gasUsed: bigint;
  cumulativeGasUsed: bigint;
  effectiveGasPrice: bigint;
  blobGas: Readonly<{ used: bigint; price: bigint }> | undefined;
  logs: readonly ExecutedLog[];
  logsBloom: Hex;
  /** The receipt as the receipts' root counts it. */
  receipt: Uint8Array;
  returned: Uint8Array;
  /** What went wrong, in the machine's words. */
  error: string | undefined;
}>;

/** What system contracts did to the ledger in a transaction: their events, and the rows that they left. */
export type Reported = Readonly<{ events: readonly ChainEvent[]; records: readonly LedgerRecord[] }>;

/** Of a transaction that called none. */
export const nothingReported: Reported = { events: [], records: [] };

/** The outcome of one item of a block. */
export type Outcome =
  | (Readonly<{
      kind: 'executed';
      transaction: ExecutedTransaction;
      gasLimit: bigint;
      touched: readonly ChangedAccount[];
    }> &
      Reported)
  | Readonly<{ kind: 'changed'; touched: readonly ChangedAccount[] }>
  /** No block takes it as the state is: wrong nonce, too little money, and the like. */
  | Readonly<{ kind: 'refused'; reason: string }>
  /** This block has no room for it. */
  | Readonly<{ kind: 'left' }>;

/** The library's result of a transaction as plain data. */
export function executedTransaction(
  tx: TypedTransaction,
  { receipt, execResult, createdAddress, totalGasSpent }: RunTxResult,
  header: BlockHeader,
): ExecutedTransaction {
  return {
    hash: hexOf(tx.hash()),
    type: tx.type,
    from: tx.getSenderAddress().toString(),
    to: tx.to?.toString(),
    contractAddress: tx.to ? undefined : createdAddress?.toString(),
    succeeded: 'status' in receipt ? receipt.status === 1 : undefined,
    stateRoot: 'stateRoot' in receipt ? hexOf(receipt.stateRoot) : undefined,
    gasUsed: totalGasSpent,
    cumulativeGasUsed: receipt.cumulativeBlockGasUsed,
    effectiveGasPrice: effectiveGasPrice(tx, header.baseFeePerGas ?? 0n),
    blobGas: 'blobGasUsed' in receipt ? { used: receipt.blobGasUsed, price: receipt.blobGasPrice } : undefined,
    logs: receipt.logs.map(([address, topics, data]) => ({
      address: hexOf(address),
      topics: topics.map((topic) => hexOf(topic)),
      data: hexOf(data),
    })),
    logsBloom: hexOf(receipt.bitvector),
    receipt: encodeReceipt(receipt, tx.type),
    returned: execResult.returnValue,
    error: execResult.exceptionError?.error,
  };
}

/** What each unit of gas costs in a block with this base fee. */
export function effectiveGasPrice(tx: TypedTransaction, baseFee: bigint): bigint {
  if (!isFeeMarket1559Tx(tx) && !isBlob4844Tx(tx) && !isEOACode7702Tx(tx)) return tx.gasPrice;
  const offered = tx.maxPriorityFeePerGas + baseFee;
  return offered < tx.maxFeePerGas ? offered : tx.maxFeePerGas;
}
