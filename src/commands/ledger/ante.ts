import type { LedgerState } from './chain.ts';
import { alumeOf, ulumeOf } from './coins.ts';
import { signerOf, type Transaction } from './messages.ts';

/** Why a transaction does not get into a block, with the code and the words of the chain (codespace `sdk`). */
export type Refusal = Readonly<{ code: number; log: string }>;

/**
 * What the chain requires of a transaction's account: `ahead` of its transactions wait already; `height` is that of the
 * next block.
 */
export type Ante = Readonly<{ height: number; ahead: number }>;

/** The most gas that a transaction may request, and the least price of each hundred units. */
const mostGas = 25_000_000;
const gasPerCoin = 100;
/** In bytes, which the chain calls characters. */
const longestMemo = 256;

/**
 * Why a transaction would not get into the next block; undefined when it would.
 *
 * Everything but the signature, which is checked where the cryptography is: after this, with the account's number.
 */
export function refusalOf(state: LedgerState, transaction: Transaction, { height, ahead }: Ante): Refusal | undefined {
  const { messages, signer, fee, gasLimit, memo, timeoutHeight } = transaction;
  if (messages.length === 0) return refused(18, 'must contain at least one message: invalid request');
  if (messages.some((message) => signerOf(message) !== signer))
    return refused(4, 'all messages must have the same signer: unauthorized');
  if (messages.some(lacksCounter)) return refused(18, 'rq_ids_ic is required: invalid request');
  const memoBytes = new TextEncoder().encode(memo).length;
  if (memoBytes > longestMemo)
    return refused(
      12,
      `maximum number of characters is ${longestMemo} but received ${memoBytes} characters: memo too large`,
    );
  if (timeoutHeight !== 0 && height > timeoutHeight)
    return refused(30, `block height: ${height}, timeout height: ${timeoutHeight}: tx timeout height`);
  if (gasLimit === 0 || gasLimit > mostGas)
    return refused(11, `gas limit ${gasLimit}: must be from 1 to ${mostGas}: out of gas`);
  return refusedFee(state, fee, gasLimit) ?? refusedAccount(state, transaction, ahead);
}

/** The least fee for a gas limit, in the chain's denomination. */
export function leastFee(gasLimit: number): bigint {
  return BigInt(Math.ceil(gasLimit / gasPerCoin));
}

/** A declared fee in the chain's denomination; 0 for anything else. */
export function feeAmount(fee: Transaction['fee'], denom: string): bigint {
  const [coin] = fee;
  return coin?.denom === denom && fee.length === 1 && /^\d{1,30}$/.test(coin.amount) ? BigInt(coin.amount) : 0n;
}

function refusedFee({ genesis }: LedgerState, fee: Transaction['fee'], gasLimit: number): Refusal | undefined {
  const { denom } = genesis.params;
  const least = leastFee(gasLimit);
  if (feeAmount(fee, denom) >= least) return undefined;
  const got = fee.map(({ denom: of, amount }) => `${amount}${of}`).join(',');
  return refused(13, `insufficient fees; got: ${got} required: ${least}${denom}: insufficient fee`);
}

function refusedAccount(state: LedgerState, transaction: Transaction, ahead: number): Refusal | undefined {
  const { signer, fee, sequence, publicKey } = transaction;
  const { denom } = state.genesis.params;
  const account = state.account(signer);
  if (account === undefined) return refused(9, `fee payer address: ${signer} does not exist: unknown address`);
  const amount = feeAmount(fee, denom);
  if (account.balance < alumeOf(amount))
    return refused(
      5,
      `spendable balance ${ulumeOf(account.balance)}${denom} is smaller than ${amount}${denom}: insufficient funds: insufficient funds`,
    );
  const known = account.publicKey;
  if (known === undefined && publicKey === undefined)
    return refused(8, 'account has no public key and the transaction names none: invalid pubkey');
  if (known !== undefined && publicKey !== undefined && (known.key !== publicKey.key || known.type !== publicKey.type))
    return refused(8, `pubKey does not match signer address ${signer}: invalid pubkey`);
  const expected = account.sequence + ahead;
  return sequence === expected
    ? undefined
    : refused(32, `account sequence mismatch, expected ${expected}, got ${sequence}: incorrect account sequence`);
}

/** The chain reads this one field of the metadata before it takes a registration in. */
function lacksCounter(message: Transaction['messages'][number]): boolean {
  return message['@type'] === '/lumera.action.v1.MsgRequestAction' && /"rq_ids_ic":\s*0\b/.test(message.metadata);
}

function refused(code: number, log: string): Refusal {
  return { code, log };
}
