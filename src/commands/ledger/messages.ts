import type { PublicKey } from './chain.ts';

/** The messages that a transaction can hold, as they appear on the wire. */
export type Message =
  | Readonly<{
      '@type': '/lumera.action.v1.MsgRequestAction';
      creator: string;
      actionType: string;
      /** JSON text. */
      metadata: string;
      /** Such as `10060ulume`. */
      price: string;
      /** Unix seconds as text. */
      expirationTime: string;
      fileSizeKbs: string;
      app_pubkey: null;
    }>
  | Readonly<{
      '@type': '/lumera.action.v1.MsgFinalizeAction';
      creator: string;
      actionId: string;
      actionType: string;
      metadata: string;
    }>
  | Readonly<{ '@type': '/lumera.action.v1.MsgApproveAction'; creator: string; actionId: string }>
  | Readonly<{
      '@type': '/lumera.supernode.v1.MsgRegisterSupernode';
      creator: string;
      validatorAddress: string;
      ipAddress: string;
      supernodeAccount: string;
      p2p_port: string;
    }>
  | Readonly<{
      '@type': '/lumera.supernode.v1.MsgUpdateSupernode';
      creator: string;
      validatorAddress: string;
      /** An empty field stays as it is. */
      ipAddress: string;
      note: string;
      supernodeAccount: string;
      p2p_port: string;
    }>
  | Readonly<{
      '@type': '/lumera.supernode.v1.MsgStopSupernode';
      creator: string;
      validatorAddress: string;
      reason: string;
    }>
  | Readonly<{ '@type': '/lumera.supernode.v1.MsgStartSupernode'; creator: string; validatorAddress: string }>
  | Readonly<{ '@type': '/lumera.supernode.v1.MsgDeregisterSupernode'; creator: string; validatorAddress: string }>
  | Readonly<{
      '@type': '/cosmos.bank.v1beta1.MsgSend';
      from_address: string;
      to_address: string;
      amount: readonly Readonly<{ denom: string; amount: string }>[];
    }>;

/** The name of a message as the chain writes it. */
export type MessageType = Message['@type'];
/** The message of a name. */
export type MessageOf<T extends MessageType> = Extract<Message, { '@type': T }>;

/** Gas that a careful signer allows for a message: what it uses is a share of it (`gasUsed`). */
export const gasLimits = {
  '/lumera.action.v1.MsgRequestAction': 500_000,
  '/lumera.action.v1.MsgFinalizeAction': 1_000_000,
  '/lumera.action.v1.MsgApproveAction': 400_000,
  '/lumera.supernode.v1.MsgRegisterSupernode': 400_000,
  '/lumera.supernode.v1.MsgUpdateSupernode': 400_000,
  '/lumera.supernode.v1.MsgStopSupernode': 400_000,
  '/lumera.supernode.v1.MsgStartSupernode': 400_000,
  '/lumera.supernode.v1.MsgDeregisterSupernode': 400_000,
  '/cosmos.bank.v1beta1.MsgSend': 200_000,
} as const satisfies Record<MessageType, number>;

/** The signer of a message. */
export function signerOf(message: Message): string {
  return message['@type'] === '/cosmos.bank.v1beta1.MsgSend' ? message.from_address : message.creator;
}

/** Gas allowed for all messages of a transaction, where its signer has no reason for another limit. */
export function gasWanted(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + gasLimits[message['@type']], 0);
}

/** Real messages use between a fifth and two fifths of the gas that careful signers allow. */
const gasShares = { carriedOut: 0.31, failed: 0.19 } as const;

/** Gas that messages use, whether they are carried out or fail. */
export function gasUsed(messages: readonly Message[], isCarriedOut: boolean): number {
  const share = isCarriedOut ? gasShares.carriedOut : gasShares.failed;
  return messages.reduce((sum, message) => sum + Math.round(gasLimits[message['@type']] * share), 0);
}

/** How a transaction encodes what its signer signs: protobuf bytes, or amino JSON. */
export type SignMode = 'SIGN_MODE_DIRECT' | 'SIGN_MODE_LEGACY_AMINO_JSON';

/** Messages of one signer, of which all take effect or none; with the signed bytes and the signature (base64). */
export type Transaction = Readonly<{
  messages: readonly Message[];
  /** Account of the first message's signer. */
  signer: string;
  /** May be left out by a signer whose key the chain knows. */
  publicKey: PublicKey | undefined;
  sequence: number;
  fee: readonly Readonly<{ denom: string; amount: string }>[];
  gasLimit: number;
  memo: string;
  /** Last height that may hold it; 0: any. */
  timeoutHeight: number;
  mode: SignMode;
  signature: string;
}>;
