import type { Block, BlockHeader } from '@ethereumjs/block';
import {
  isBlob4844Tx,
  isEOACode7702Tx,
  isFeeMarket1559Tx,
  isLegacyTx,
  type JSONTx,
  type TypedTransaction,
} from '@ethereumjs/tx';
import { effectiveGasPrice, type Hex, hexOf } from './outcome.ts';

/** The position of a transaction; without it, the transaction is pending. */
export type TransactionPosition = Readonly<{
  blockHash: Hex;
  blockNumber: bigint;
  timestamp: bigint;
  index: number;
  baseFee: bigint | undefined;
}>;

/** A number as JSON-RPC writes it. */
export const quantity = (value: bigint | number): Hex => `0x${value.toString(16)}`;

/** A transaction as `eth_getTransactionByHash` shows it. */
export function transactionForm(
  tx: TypedTransaction,
  location?: TransactionPosition,
): Readonly<Record<string, unknown>> {
  const json = tx.toJSON();
  const priced = isFeeMarket1559Tx(tx) || isBlob4844Tx(tx) || isEOACode7702Tx(tx);
  const waiting = priced ? tx.maxFeePerGas : tx.gasPrice;
  return {
    blockHash: location?.blockHash ?? null,
    blockNumber: location ? quantity(location.blockNumber) : null,
    blockTimestamp: location ? quantity(location.timestamp) : null,
    from: tx.getSenderAddress().toString(),
    gas: quantity(tx.gasLimit),
    gasPrice: quantity(location?.baseFee === undefined ? waiting : effectiveGasPrice(tx, location.baseFee)),
    ...(priced && {
      maxFeePerGas: quantity(tx.maxFeePerGas),
      maxPriorityFeePerGas: quantity(tx.maxPriorityFeePerGas),
    }),
    ...(isBlob4844Tx(tx) && { maxFeePerBlobGas: quantity(tx.maxFeePerBlobGas) }),
    hash: hexOf(tx.hash()),
    input: hexOf(tx.data),
    nonce: quantity(tx.nonce),
    to: tx.to?.toString() ?? null,
    transactionIndex: location ? quantity(location.index) : null,
    value: quantity(tx.value),
    type: quantity(tx.type),
    ...typedFields(tx, json),
    v: quantity(tx.v ?? 0n),
    r: quantity(tx.r ?? 0n),
    s: quantity(tx.s ?? 0n),
    ...(tx.type > 0 && { yParity: quantity(tx.v ?? 0n) }),
  };
}

function typedFields(tx: TypedTransaction, json: JSONTx): Readonly<Record<string, unknown>> {
  if (isLegacyTx(tx)) return tx.v !== undefined && tx.v >= 35n ? { chainId: quantity((tx.v - 35n) / 2n) } : {};
  const number = (value: string): Hex => quantity(BigInt(value === '0x' ? 0 : value));
  return {
    accessList: json.accessList ?? [],
    chainId: quantity(tx.chainId),
    ...(isBlob4844Tx(tx) && { blobVersionedHashes: json.blobVersionedHashes }),
    ...(isEOACode7702Tx(tx) && {
      authorizationList: (json.authorizationList ?? []).map(({ chainId, address, nonce, yParity, r, s }) => ({
        chainId: number(chainId),
        address,
        nonce: number(nonce),
        yParity: number(yParity),
        r: number(r),
        s: number(s),
      })),
    }),
  };
}

/** The parts of a block beside its header; its transactions in the form of the RPC. */
export type ShownParts = Readonly<{
  sizeBytes: number;
  transactions: readonly unknown[];
  uncles: readonly Hex[];
  withdrawals: readonly unknown[];
}>;

/** A block of its header and of what it holds, as `eth_getBlockByNumber` shows it. */
export function blockFormOf(header: BlockHeader, hash: Hex, parts: ShownParts): Readonly<Record<string, unknown>> {
  return {
    ...headForm(header, hash),
    size: quantity(parts.sizeBytes),
    transactions: parts.transactions,
    uncles: parts.uncles,
    ...(header.withdrawalsRoot && { withdrawals: parts.withdrawals }),
  };
}

/** A block as `eth_getBlockByNumber` shows it, with full transactions or their hashes. */
export function blockForm(block: Block, complete: boolean): Readonly<Record<string, unknown>> {
  const { header, transactions } = block;
  const hash = hexOf(header.hash());
  const inBlock = { blockHash: hash, blockNumber: header.number, timestamp: header.timestamp };
  return blockFormOf(header, hash, {
    sizeBytes: block.serialize().length,
    transactions: transactions.map((tx, index) =>
      complete ? transactionForm(tx, { ...inBlock, index, baseFee: header.baseFeePerGas }) : hexOf(tx.hash()),
    ),
    uncles: block.uncleHeaders.map((uncle) => hexOf(uncle.hash())),
    withdrawals: (block.withdrawals ?? []).map((withdrawal) => withdrawal.toJSON()),
  });
}

/** A block as `newHeads` shows it: its header and its hash. */
export const headForm = (header: BlockHeader, hash: Hex): Readonly<Record<string, unknown>> => ({
  ...headerForm(header),
  hash,
});

function headerForm(header: BlockHeader): Readonly<Record<string, unknown>> {
  return {
    difficulty: quantity(header.difficulty),
    extraData: hexOf(header.extraData),
    gasLimit: quantity(header.gasLimit),
    gasUsed: quantity(header.gasUsed),
    logsBloom: hexOf(header.logsBloom),
    miner: header.coinbase.toString(),
    mixHash: hexOf(header.mixHash),
    nonce: hexOf(header.nonce),
    number: quantity(header.number),
    parentHash: hexOf(header.parentHash),
    receiptsRoot: hexOf(header.receiptTrie),
    sha3Uncles: hexOf(header.uncleHash),
    stateRoot: hexOf(header.stateRoot),
    timestamp: quantity(header.timestamp),
    transactionsRoot: hexOf(header.transactionsTrie),
    ...(header.baseFeePerGas !== undefined && { baseFeePerGas: quantity(header.baseFeePerGas) }),
    ...(header.withdrawalsRoot && { withdrawalsRoot: hexOf(header.withdrawalsRoot) }),
    ...(header.blobGasUsed !== undefined && { blobGasUsed: quantity(header.blobGasUsed) }),
    ...(header.excessBlobGas !== undefined && { excessBlobGas: quantity(header.excessBlobGas) }),
    ...(header.parentBeaconBlockRoot && { parentBeaconBlockRoot: hexOf(header.parentBeaconBlockRoot) }),
    ...(header.requestsHash && { requestsHash: hexOf(header.requestsHash) }),
  };
}
