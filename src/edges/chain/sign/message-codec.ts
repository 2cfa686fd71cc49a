import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Message, MessageOf, MessageType } from '../../../commands/ledger/messages.ts';
import { gasLimits } from '../../../commands/ledger/messages.ts';
import { MsgSendSchema } from '../../gen/chain/tx/v1/tx_pb.ts';

type TextMessage = Exclude<MessageType, '/cosmos.bank.v1beta1.MsgSend'>;

/**
 * The text fields of each message by their numbers from 1 on; `app_pubkey` (bytes, 7) is of interchain accounts, which
 * this chain has not.
 */
const fields = {
  '/lumera.action.v1.MsgRequestAction': ['creator', 'actionType', 'metadata', 'price', 'expirationTime', 'fileSizeKbs'],
  '/lumera.action.v1.MsgFinalizeAction': ['creator', 'actionId', 'actionType', 'metadata'],
  '/lumera.action.v1.MsgApproveAction': ['creator', 'actionId'],
  '/lumera.supernode.v1.MsgRegisterSupernode': [
    'creator',
    'validatorAddress',
    'ipAddress',
    'supernodeAccount',
    'p2p_port',
  ],
  '/lumera.supernode.v1.MsgUpdateSupernode': [
    'creator',
    'validatorAddress',
    'ipAddress',
    'note',
    'supernodeAccount',
    'p2p_port',
  ],
  '/lumera.supernode.v1.MsgStopSupernode': ['creator', 'validatorAddress', 'reason'],
  '/lumera.supernode.v1.MsgStartSupernode': ['creator', 'validatorAddress'],
  '/lumera.supernode.v1.MsgDeregisterSupernode': ['creator', 'validatorAddress'],
} as const satisfies { [T in TextMessage]: readonly (keyof MessageOf<T> & string)[] };

/** A message that cannot be read; the words are those of its refusal. */
export class BadMessage extends Error {}

/** The protobuf bytes of a message, without its type. */
export function encodeMessage(message: Message): Uint8Array {
  if (message['@type'] === '/cosmos.bank.v1beta1.MsgSend') {
    const { from_address: fromAddress, to_address: toAddress, amount } = message;
    return toBinary(
      MsgSendSchema,
      create(MsgSendSchema, { fromAddress, toAddress, amount: amount.map((coin) => ({ ...coin })) }),
    );
  }
  const writer = new BinaryWriter();
  const values: Readonly<Record<string, unknown>> = message;
  fields[message['@type']].forEach((name, index) => {
    const value = values[name];
    if (typeof value === 'string' && value !== '') writer.tag(index + 1, WireType.LengthDelimited).string(value);
  });
  return writer.finish();
}

/** Reads a message of a type; fails with `BadMessage` for types, fields or bytes that this chain does not know. */
export function decodeMessage(typeUrl: string, bytes: Uint8Array): Message {
  if (!isMessageType(typeUrl)) throw new BadMessage(`unable to resolve type URL ${typeUrl}`);
  try {
    return typeUrl === '/cosmos.bank.v1beta1.MsgSend' ? decodeSend(bytes) : decodeTexts(typeUrl, bytes);
  } catch (caught) {
    if (caught instanceof BadMessage) throw caught;
    throw new BadMessage(`${typeUrl} cannot be read`);
  }
}

function isMessageType(typeUrl: string): typeUrl is MessageType {
  return Object.hasOwn(gasLimits, typeUrl);
}

function decodeSend(bytes: Uint8Array): Message {
  const { fromAddress, toAddress, amount, $unknown } = fromBinary(MsgSendSchema, bytes);
  if ($unknown !== undefined) throw new BadMessage('/cosmos.bank.v1beta1.MsgSend has unknown fields');
  return {
    '@type': '/cosmos.bank.v1beta1.MsgSend',
    from_address: fromAddress,
    to_address: toAddress,
    amount: amount.map((coin) => ({ denom: coin.denom, amount: coin.amount })),
  };
}

function decodeTexts(typeUrl: TextMessage, bytes: Uint8Array): Message {
  const names: readonly string[] = fields[typeUrl];
  const values: Record<string, string | null> = Object.fromEntries(names.map((name) => [name, '']));
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const name = names[number - 1];
    if (name === undefined || wireType !== WireType.LengthDelimited)
      throw new BadMessage(`${typeUrl} has an unknown field ${number}`);
    values[name] = reader.string();
  }
  if (typeUrl === '/lumera.action.v1.MsgRequestAction') values['app_pubkey'] = null;
  return { '@type': typeUrl, ...values } as Message;
}
