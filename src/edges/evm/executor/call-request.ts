import type { Common } from '@ethereumjs/common';
import {
  createAccessList2930Tx,
  createBlob4844Tx,
  createEOACode7702Tx,
  createFeeMarket1559Tx,
  createLegacyTx,
  type TypedTransaction,
} from '@ethereumjs/tx';
import { type Address, createAddressFromString, createZeroAddress, hexToBytes } from '@ethereumjs/util';
import { sentBy } from '../../../kit/shims/ethereumjs/pretended.ts';
import { executionCodes, ExecutionError, plainReason } from './execution-error.ts';
import type { Hex } from './outcome.ts';

/** Slots that a transaction names in advance. */
export type AccessList = readonly Readonly<{ address: Hex; storageKeys?: readonly Hex[] | undefined }>[];

/** A call or transaction as JSON-RPC describes it; its schema has been checked. Numbers are hex. */
export type CallRequest = Readonly<{
  from?: Hex | undefined;
  to?: Hex | null | undefined;
  chainId?: Hex | undefined;
  gas?: Hex | undefined;
  gasPrice?: Hex | undefined;
  maxFeePerGas?: Hex | undefined;
  maxPriorityFeePerGas?: Hex | undefined;
  maxFeePerBlobGas?: Hex | undefined;
  value?: Hex | undefined;
  nonce?: Hex | undefined;
  input?: Hex | undefined;
  data?: Hex | undefined;
  accessList?: AccessList | undefined;
  authorizationList?:
    readonly Readonly<{ chainId: Hex; address: Hex; nonce: Hex; yParity: Hex; r: Hex; s: Hex }>[] | undefined;
  blobVersionedHashes?: readonly Hex[] | undefined;
}>;

/** A call as an unsigned transaction. */
export type UnsignedCall = Readonly<{ tx: TypedTransaction; from: Address }>;

/** Defaults of a call. */
export type Defaults = Readonly<{ gasLimit: bigint; nonce: bigint; common: Common }>;

/** Makes a transaction of a call; it takes part in no signature check. Fails with an ExecutionError of `failed`. */
export function messageOf(request: CallRequest, defaults: Defaults): UnsignedCall {
  const from = request.from ? createAddressFromString(request.from) : createZeroAddress();
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, chainId } = request;
  const refuse = (why: string): never => {
    throw new ExecutionError(executionCodes.failed, why);
  };
  if (gasPrice !== undefined && (maxFeePerGas ?? maxPriorityFeePerGas) !== undefined)
    refuse('both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified');
  const { data, input = data } = request;
  if (data !== undefined && data.toLowerCase() !== input?.toLowerCase())
    refuse('both "data" and "input" are set and not equal. Please use "input" to pass transaction call data');
  const own = defaults.common.chainId();
  if (chainId !== undefined && BigInt(chainId) !== own)
    refuse(`chainId does not match the chain's: ${BigInt(chainId)}, and not ${own}`);
  try {
    return { tx: sentBy(transaction(request, defaults), from), from };
  } catch (caught) {
    return refuse(`the call is no transaction: ${plainReason(caught)}`);
  }
}

function transaction(request: CallRequest, { gasLimit, nonce, common }: Defaults): TypedTransaction {
  const { to, gasPrice, accessList, authorizationList, blobVersionedHashes } = request;
  const options = { common, freeze: false };
  const base = {
    nonce: request.nonce === undefined ? nonce : BigInt(request.nonce),
    gasLimit,
    ...(to && { to }),
    value: BigInt(request.value ?? 0),
    data: hexToBytes(request.input ?? request.data ?? '0x'),
    // A shape of a signature, so that the transaction has a hash.
    v: 0n,
    r: 0n,
    s: 0n,
  };
  const typed = { ...base, chainId: common.chainId(), accessList: copied(accessList) };
  const fees = {
    maxFeePerGas: BigInt(request.maxFeePerGas ?? 0),
    maxPriorityFeePerGas: BigInt(request.maxPriorityFeePerGas ?? 0),
  };
  if (blobVersionedHashes) {
    const blobs = {
      maxFeePerBlobGas: BigInt(request.maxFeePerBlobGas ?? 0),
      blobVersionedHashes: [...blobVersionedHashes],
    };
    return createBlob4844Tx({ ...typed, ...fees, ...blobs }, options);
  }
  if (authorizationList)
    return createEOACode7702Tx({ ...typed, ...fees, authorizationList: [...authorizationList] }, options);
  if (gasPrice === undefined && common.isActivatedEIP(1559))
    return createFeeMarket1559Tx({ ...typed, ...fees }, options);
  if (accessList) return createAccessList2930Tx({ ...typed, gasPrice: BigInt(gasPrice ?? 0) }, options);
  // Only a signature of before chain ids passes for one of any chain; the hash is that of none.
  return Object.assign(createLegacyTx({ ...base, v: 27n, gasPrice: BigInt(gasPrice ?? 0) }, options), { v: 0n });
}

const copied = (list: AccessList | undefined): { address: Hex; storageKeys: Hex[] }[] =>
  (list ?? []).map(({ address, storageKeys = [] }) => ({ address, storageKeys: [...storageKeys] }));

/** The most that a unit of gas may cost, and hence what the sender must be able to pay. */
export const feeCapOf = (tx: TypedTransaction): bigint => ('maxFeePerGas' in tx ? tx.maxFeePerGas : tx.gasPrice);

const blobGas = 131_072n;

/** Gas of the blobs that a transaction names. */
export const blobGasOf = (tx: TypedTransaction): bigint =>
  'blobVersionedHashes' in tx ? BigInt(tx.blobVersionedHashes.length) * blobGas : 0n;
