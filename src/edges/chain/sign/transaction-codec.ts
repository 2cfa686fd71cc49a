import { createHash } from 'node:crypto';
import { create, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { AppError } from '../../../kit/errors.ts';
import type { PublicKey } from '../../../commands/ledger/chain.ts';
import { type Message, signerOf, type SignMode, type Transaction } from '../../../commands/ledger/messages.ts';
import { AuthInfoSchema, PubKeySchema, TxBodySchema, TxRawSchema } from '../../gen/chain/tx/v1/tx_pb.ts';
import { isPublicKey, keyUrls, type PrivateKey, publicKeyOf, sign } from './keys.ts';
import { BadMessage, decodeMessage, encodeMessage } from './message-codec.ts';
import { aminoSignBytes, type Binding, directSignBytes } from './sign-bytes.ts';

/** A sent transaction: its bytes, its hash (SHA-256, upper-case hex), and its decoded content. */
export type SentTransaction = Readonly<{
  bytes: Uint8Array;
  hash: string;
  transaction: Transaction;
  /** Accounts that are to pay the fee in the signer's place; empty for none. */
  feePayer: string;
  feeGranter: string;
  /** The bytes that its signature must be over, once chain and account are known. */
  signBytes: (binding: Binding) => Uint8Array;
}>;

/** Bytes that are no transaction of this chain; the message is the chain's refusal, its code 2. */
export class UnreadableTransaction extends Error {}

const modes: Readonly<Record<number, SignMode | undefined>> = {
  1: 'SIGN_MODE_DIRECT',
  127: 'SIGN_MODE_LEGACY_AMINO_JSON',
};
const modeNumbers = { SIGN_MODE_DIRECT: 1, SIGN_MODE_LEGACY_AMINO_JSON: 127 } as const;

/** Hash of a transaction's bytes. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').toUpperCase();
}

/** Reads a transaction; fails with `UnreadableTransaction`. Does not verify its signature. */
export function decodeTransaction(bytes: Uint8Array, { isSimulated = false } = {}): SentTransaction {
  try {
    return decode(bytes, isSimulated ? { ...modes, 0: 'SIGN_MODE_DIRECT' } : modes);
  } catch (caught) {
    if (caught instanceof UnreadableTransaction) throw caught;
    const words = caught instanceof BadMessage ? caught.message : 'it is no protobuf message of the kind';
    throw new UnreadableTransaction(`${words}: tx parse error`);
  }
}

function decode(bytes: Uint8Array, known: typeof modes): SentTransaction {
  const raw = fromBinary(TxRawSchema, bytes);
  const body = fromBinary(TxBodySchema, raw.bodyBytes);
  const auth = fromBinary(AuthInfoSchema, raw.authInfoBytes);
  const [info] = auth.signerInfos;
  const [signature] = raw.signatures;
  requireKnown(raw, body, auth, info?.modeInfo, auth.fee);
  if (!info || !signature || auth.signerInfos.length !== 1 || raw.signatures.length !== 1)
    throw new UnreadableTransaction('this chain takes exactly one signer: tx parse error');
  const mode = known[info.modeInfo?.single?.mode ?? 0];
  if (mode === undefined) throw new UnreadableTransaction('sign mode is not supported: tx parse error');
  const messages = body.messages.map(({ typeUrl, value }) => decodeMessage(typeUrl, value));
  requireCanonical(toBinary(TxRawSchema, raw), bytes);
  if (mode === 'SIGN_MODE_LEGACY_AMINO_JSON') {
    requireCanonical(toBinary(TxBodySchema, body), raw.bodyBytes);
    requireCanonical(toBinary(AuthInfoSchema, auth), raw.authInfoBytes);
    messages.forEach((message, index) => requireCanonical(encodeMessage(message), body.messages[index]?.value));
  }
  const sequence = integer(info.sequence);
  const fee = (auth.fee?.amount ?? []).map(({ denom, amount }) => ({ denom, amount }));
  const gasLimit = integer(auth.fee?.gasLimit ?? 0n);
  const { memo } = body;
  const timeoutHeight = integer(body.timeoutHeight);
  const transaction: Transaction = {
    messages,
    signer: messages[0] ? signerOf(messages[0]) : '',
    publicKey: publicKeyIn(info.publicKey),
    sequence,
    fee,
    gasLimit,
    memo,
    timeoutHeight,
    mode,
    signature: Buffer.from(signature).toString('base64'),
  };
  const amino = { messages, memo, sequence, fee: { amount: fee, gas: String(gasLimit) }, timeoutHeight };
  const signBytes = (binding: Binding): Uint8Array =>
    mode === 'SIGN_MODE_DIRECT' ? directSignBytes(raw, binding) : aminoSignBytes(amino, binding);
  const { payer: feePayer = '', granter: feeGranter = '' } = auth.fee ?? {};
  return { bytes, hash: hashOf(bytes), transaction, feePayer, feeGranter, signBytes };
}

/** The transaction that a block of the log holds; fails for data that an older version wrote. */
export function sentIn({ hash, raw }: Readonly<{ hash: string; raw?: string | undefined }>): SentTransaction {
  if (raw === undefined)
    throw new AppError(
      'UNAVAILABLE',
      `Transaction ${hash} of the local network was written by an older version, without a signature. Begin anew with ./annals reset.`,
    );
  return decodeTransaction(Buffer.from(raw, 'base64'));
}

/** Another encoding of the same content would have another hash, and is not what the sender signed. */
function requireCanonical(canonical: Uint8Array, match: Uint8Array | undefined): void {
  if (match === undefined || Buffer.compare(canonical, match) !== 0)
    throw new UnreadableTransaction('the encoding is not the canonical one: tx parse error');
}

type Parts = readonly (Readonly<{ $unknown?: readonly unknown[] | undefined }> | undefined)[];

/**
 * Fields that this chain does not know could change the meaning of a transaction, so it is refused as the real chain
 * does.
 */
function requireKnown(
  raw: MessageShape<typeof TxRawSchema>,
  body: MessageShape<typeof TxBodySchema>,
  ...rest: Parts
): void {
  if ([raw, body, ...rest].some((part) => part?.$unknown !== undefined))
    throw new UnreadableTransaction('unknown fields: tx parse error');
  if (body.extensionOptions.length > 0 || body.unordered || body.timeoutTimestamp !== undefined)
    throw new UnreadableTransaction('extension options and unordered transactions are not supported: tx parse error');
}

function publicKeyIn(any: Readonly<{ typeUrl: string; value: Uint8Array }> | undefined): PublicKey | undefined {
  if (any === undefined) return undefined;
  const result = Object.entries(keyUrls).find(([, url]) => url === any.typeUrl)?.[0];
  const type = result === 'secp256k1' || result === 'eth_secp256k1' ? result : undefined;
  const { key } = fromBinary(PubKeySchema, any.value);
  if (type === undefined || !isPublicKey(key))
    throw new UnreadableTransaction(`${any.typeUrl} is no public key that this chain knows: tx parse error`);
  return { type, key: Buffer.from(key).toString('base64') };
}

function integer(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new UnreadableTransaction('a number is too large: tx parse error');
  return Number(value);
}

/** The signer's choices for a transaction. */
export type UnsignedTransaction = Binding &
  Readonly<{
    messages: readonly Message[];
    sequence: number;
    fee: readonly Readonly<{ denom: string; amount: string }>[];
    gasLimit: number;
    memo?: string;
    mode?: SignMode;
    payer?: string;
    granter?: string;
  }>;

/** The bytes of a signed transaction. */
export function signTransaction(key: PrivateKey, draft: UnsignedTransaction): Uint8Array {
  const { messages, memo = '', mode = 'SIGN_MODE_DIRECT', sequence, fee, gasLimit, payer = '', granter = '' } = draft;
  const { type, key: text } = publicKeyOf(key);
  const pubKey = create(PubKeySchema, { key: Buffer.from(text, 'base64') });
  const bodyBytes = toBinary(
    TxBodySchema,
    create(TxBodySchema, {
      memo,
      messages: messages.map((message) => ({ typeUrl: message['@type'], value: encodeMessage(message) })),
    }),
  );
  const authInfoBytes = toBinary(
    AuthInfoSchema,
    create(AuthInfoSchema, {
      signerInfos: [
        {
          publicKey: { typeUrl: keyUrls[type], value: toBinary(PubKeySchema, pubKey) },
          modeInfo: { single: { mode: modeNumbers[mode] } },
          sequence: BigInt(sequence),
        },
      ],
      fee: { amount: fee.map((coin) => ({ ...coin })), gasLimit: BigInt(gasLimit), payer, granter },
    }),
  );
  const amino = { messages, memo, sequence, fee: { amount: fee, gas: String(gasLimit) }, timeoutHeight: 0 };
  const signBytes =
    mode === 'SIGN_MODE_DIRECT' ? directSignBytes({ bodyBytes, authInfoBytes }, draft) : aminoSignBytes(amino, draft);
  const signatures = [sign(key, signBytes)];
  return toBinary(TxRawSchema, create(TxRawSchema, { bodyBytes, authInfoBytes, signatures }));
}
