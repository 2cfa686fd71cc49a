import { type Ante, type Refusal, refusalOf } from '../../commands/ledger/ante.ts';
import type { LedgerState } from '../../commands/ledger/chain.ts';
import { bytesOf, evmAddress, prefixes } from '../chain/sign/addresses.ts';
import { accountOf, verify } from '../chain/sign/keys.ts';
import type { SentTransaction } from '../chain/sign/transaction-codec.ts';
import { contractAddresses } from '../evm/contracts/addresses.ts';

/** Larger ones fit no queue: a block is one message of the broker. */
const mostBytes = 128 * 1024;

/** The context of a check. */
export type Checking = Ante & Readonly<{ state: LedgerState; chainId: string }>;

/** Why the chain does not take a transaction in, its signature included; undefined when it does. */
export function checkTransaction(sent: SentTransaction, { state, chainId, ...ante }: Checking): Refusal | undefined {
  const { transaction, bytes } = sent;
  if (bytes.length > mostBytes)
    return { code: 21, log: `transaction size ${bytes.length} is above ${mostBytes} bytes: tx too large` };
  return (
    wrongAddress(sent) ??
    blockedRecipient(sent, state) ??
    wrongPayer(sent) ??
    refusalOf(state, transaction, ante) ??
    wrongSignature(sent, { state, chainId })
  );
}

/**
 * Why the chain does not take the addresses of a transaction's transfers; undefined when it does.
 *
 * Accounts are named by the text of their address, in small letters: in capitals it would be another account, which
 * the virtual machine takes for the same one.
 */
export function wrongAddress({ transaction }: Pick<SentTransaction, 'transaction'>): Refusal | undefined {
  for (const message of transaction.messages) {
    if (message['@type'] !== '/cosmos.bank.v1beta1.MsgSend') continue;
    for (const address of [message.from_address, message.to_address]) {
      const decoded = bytesOf(prefixes.account, address);
      if ('problem' in decoded)
        return { code: 7, log: `invalid address ${address}: ${decoded.problem}: invalid address` };
      if (address !== address.toLowerCase())
        return { code: 7, log: `invalid address ${address}: write it in small letters: invalid address` };
    }
  }
  return undefined;
}

/** The last built-in contract of the virtual machine, by the number that is its address. */
const lastBuiltIn = 0x11;
const contracts: ReadonlySet<number> = new Set(Object.values(contractAddresses).map(Number));

/**
 * Why an account is not allowed to receive coins; undefined when all are.
 *
 * The real chain blocks the fee collector and each contract that is no account. Decided here, not by the rules:
 * blocks of the log may hold such transfers.
 */
function blockedRecipient({ transaction }: SentTransaction, { genesis }: LedgerState): Refusal | undefined {
  for (const message of transaction.messages) {
    if (message['@type'] !== '/cosmos.bank.v1beta1.MsgSend') continue;
    const { to_address: to } = message;
    const number = Number(evmAddress(to) ?? 0);
    const isContract = (number > 0 && number <= lastBuiltIn) || contracts.has(number);
    if (isContract || to === genesis.modules.feeCollector)
      return { code: 4, log: `${to} is not allowed to receive funds: unauthorized` };
  }
  return undefined;
}

/** Whoever is to pay the fee for the signer is never asked here, so such a transaction is not taken. */
function wrongPayer({ transaction: { signer }, feePayer, feeGranter }: SentTransaction): Refusal | undefined {
  if (feePayer !== '' && feePayer !== signer)
    return { code: 4, log: 'wrong number of signers; expected 2, got 1: unauthorized' };
  if (feeGranter === '') return undefined;
  return { code: 38, log: `${feeGranter} does not allow to pay fees for ${signer}: fee-grant not found: not found` };
}

function wrongSignature(
  { transaction, signBytes }: SentTransaction,
  { state, chainId }: Pick<Checking, 'state' | 'chainId'>,
): Refusal | undefined {
  const { signer, publicKey, signature } = transaction;
  const account = state.account(signer);
  const key = account?.publicKey ?? publicKey;
  if (account === undefined || key === undefined) return { code: 8, log: 'no public key is known: invalid pubkey' };
  if (accountOf(key) !== signer)
    return { code: 8, log: `pubKey does not match signer address ${signer}: invalid pubkey` };
  const accountNumber = account.number;
  if (verify(key, signBytes({ chainId, accountNumber }), Buffer.from(signature, 'base64'))) return undefined;
  const expected = `account number (${accountNumber}) and chain-id (${chainId})`;
  return { code: 4, log: `signature verification failed; please verify ${expected}: unauthorized` };
}
