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
      /** What is empty stays as it is. */
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
  | Readonly<{ '@type': '/lumera.supernode.v1.MsgDeregisterSupernode'; creator: string; validatorAddress: string }>;

/** The name of a message as the chain writes it. */
export type MessageType = Message['@type'];
/** The message of a name. */
export type MessageOf<T extends MessageType> = Extract<Message, { '@type': T }>;

/** Gas that a signer allows for a message; the fee is a hundredth of it. */
export const gasLimits = {
  '/lumera.action.v1.MsgRequestAction': 500_000,
  '/lumera.action.v1.MsgFinalizeAction': 1_000_000,
  '/lumera.action.v1.MsgApproveAction': 400_000,
  '/lumera.supernode.v1.MsgRegisterSupernode': 400_000,
  '/lumera.supernode.v1.MsgUpdateSupernode': 400_000,
  '/lumera.supernode.v1.MsgStopSupernode': 400_000,
  '/lumera.supernode.v1.MsgStartSupernode': 400_000,
  '/lumera.supernode.v1.MsgDeregisterSupernode': 400_000,
} as const satisfies Record<MessageType, number>;

/** Gas allowed for all messages of a transaction. */
export function gasWanted(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + gasLimits[message['@type']], 0);
}

/** Reads a message that `JSON.stringify` wrote into the log. */
export function parseMessage(text: string): Message {
  const parsed: unknown = JSON.parse(text);
  if (!isMessage(parsed))
    throw new Error(
      'The log of the ledger holds a message of a type that is not known: it was written by a newer version',
    );
  return parsed;
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null || !('@type' in value)) return false;
  return typeof value['@type'] === 'string' && Object.hasOwn(gasLimits, value['@type']);
}
