import { create, toBinary } from '@bufbuild/protobuf';
import type { Message } from '../../../commands/ledger/messages.ts';
import { SignDocSchema } from '../../gen/chain/tx/v1/tx_pb.ts';

/** The values that a signature binds beside the transaction itself: the chain, and the account's number there. */
export type Binding = Readonly<{ chainId: string; accountNumber: number }>;

/** The bytes that a direct signature is over (cosmos.tx.v1beta1.SignDoc). */
export function directSignBytes(
  { bodyBytes, authInfoBytes }: Readonly<{ bodyBytes: Uint8Array; authInfoBytes: Uint8Array }>,
  { chainId, accountNumber }: Binding,
): Uint8Array {
  const doc = create(SignDocSchema, { bodyBytes, authInfoBytes, chainId, accountNumber: BigInt(accountNumber) });
  return toBinary(SignDocSchema, doc);
}

/** The content of a transaction that an amino JSON signature covers. */
export type AminoParts = Readonly<{
  messages: readonly Message[];
  memo: string;
  sequence: number;
  fee: Readonly<{ amount: readonly Readonly<{ denom: string; amount: string }>[]; gas: string }>;
  timeoutHeight: number;
}>;

/** The bytes that an amino JSON signature is over: compact JSON, keys sorted, absent fields left out. */
export function aminoSignBytes(
  { messages, memo, sequence, fee, timeoutHeight }: AminoParts,
  binding: Binding,
): Uint8Array {
  const doc = {
    account_number: String(binding.accountNumber),
    chain_id: binding.chainId,
    fee,
    memo,
    msgs: messages.map(aminoMessage),
    sequence: String(sequence),
    ...(timeoutHeight === 0 ? {} : { timeout_height: String(timeoutHeight) }),
  };
  return Buffer.from(escaped(JSON.stringify(sorted(doc))));
}

/** Messages without a registered amino name go by their type URL, as wallets write them. */
function aminoMessage({ '@type': typeUrl, ...fields }: Message): object {
  const type = typeUrl === '/cosmos.bank.v1beta1.MsgSend' ? 'cosmos-sdk/MsgSend' : typeUrl;
  const present = Object.entries(fields).filter(([, value]) => value !== '' && value !== null);
  return { type, value: Object.fromEntries(present) };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** The chain's encoder writes these three as escapes. */
function escaped(json: string): string {
  return json.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e');
}
