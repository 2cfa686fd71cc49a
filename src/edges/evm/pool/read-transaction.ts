import type { Common } from '@ethereumjs/common';
import { createTxFromRLP, isEOACode7702Tx, isFeeMarket1559Tx, type TypedTransaction } from '@ethereumjs/tx';
import { bytesToHex } from '@ethereumjs/util';
import { AppError } from '../../../kit/errors.ts';
import type { PoolTransaction } from '../../../commands/ledger/pool.ts';

/** A transaction that its sender signed: its original bytes, and the fields that the pool uses. */
export type SignedTransaction = PoolTransaction & Readonly<{ raw: Uint8Array; transaction: TypedTransaction }>;

/** The chain that a transaction is for. */
export type TransactionBounds = Readonly<{
  common: Common;
  chainId: bigint;
  /** Least that a unit of gas costs, in alume. */
  feeFloor: bigint;
}>;

const mostBytes = 128 * 1024;
const blobType = 3;

/** Reads a transaction as a wallet sends it. Fails with `CONFLICT`, in words that wallets know, where it is none. */
export function readTransaction(
  raw: Uint8Array,
  { common }: Pick<TransactionBounds, 'common'>,
  submittedAt: number,
): SignedTransaction {
  if (raw.length > mostBytes) throw refused(`oversized data: transaction size ${raw.length}`);
  if (raw[0] === blobType) throw refused('transaction type not supported: 3');
  const transaction = decoded(raw, common);
  if (!transaction.isSigned() || !transaction.verifySignature()) throw refused('invalid sender');
  const fees = feesOf(transaction);
  return {
    hash: bytesToHex(transaction.hash()),
    sender: transaction.getSenderAddress().toString(),
    nonce: transaction.nonce,
    type: transaction.type,
    chainId: transaction.type === 0 && !transaction.supports(155) ? undefined : common.chainId(),
    gasLimit: transaction.gasLimit,
    intrinsicGas: leastGasOf(transaction),
    ...fees,
    value: transaction.value,
    sizeBytes: raw.length,
    submittedAt,
    raw,
    transaction,
  };
}

/** Gas that a transaction costs before anything runs, the floor of EIP-7623 included. */
function leastGasOf(transaction: TypedTransaction): bigint {
  const intrinsic = transaction.getIntrinsicGas();
  if (!transaction.common.isActivatedEIP(7623)) return intrinsic;
  let tokens = 0;
  for (const byte of transaction.data) tokens += byte === 0 ? 1 : 4;
  const floor = BigInt(21_000 + floorPerToken * tokens);
  return floor > intrinsic ? floor : intrinsic;
}

const floorPerToken = 10;

function feesOf(transaction: TypedTransaction): Pick<PoolTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  if (isFeeMarket1559Tx(transaction) || isEOACode7702Tx(transaction)) {
    const { maxFeePerGas, maxPriorityFeePerGas } = transaction;
    return { maxFeePerGas, maxPriorityFeePerGas };
  }
  const price = 'gasPrice' in transaction ? transaction.gasPrice : 0n;
  return { maxFeePerGas: price, maxPriorityFeePerGas: price };
}

function decoded(raw: Uint8Array, common: Common): TypedTransaction {
  try {
    return createTxFromRLP(raw, { common });
  } catch (caught) {
    const why = caught instanceof Error ? (caught.message.split('\n', 1)[0] ?? '') : String(caught);
    throw refused(/chain ?id/i.test(why) ? `invalid chain id for signer: ${why}` : `rlp: cannot be read: ${why}`);
  }
}

function refused(why: string): AppError {
  return new AppError('CONFLICT', why);
}
