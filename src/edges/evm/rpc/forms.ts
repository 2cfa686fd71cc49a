import { type Static, type TSchema, Type } from 'typebox';
import type { Hex } from '../executor/outcome.ts';

const hex = (pattern: string, description: string) => Type.Unsafe<Hex>({ type: 'string', pattern, description });

/** A number: hex digits behind 0x, without zeros before them. */
export const quantity = hex('^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})$', 'Number in hex digits, without leading zeros');
/** The id of a filter or a subscription. */
export const identifier = hex('^0x[0-9a-fA-F]{1,64}$', 'Id in hex digits');
/** Bytes, two digits each. */
export const bytes = hex('^0x([0-9a-fA-F]{2})*$', 'Bytes in hex digits');
/** 20 bytes. */
export const address = hex('^0x[0-9a-fA-F]{40}$', 'Address of 20 bytes');
/** 32 bytes. */
export const hash = hex('^0x[0-9a-fA-F]{64}$', 'Hash of 32 bytes');
/** A slot of storage: up to 32 bytes. */
export const slot = hex('^0x[0-9a-fA-F]{1,64}$', 'Slot of storage, up to 32 bytes');

const tag = Type.Enum(['latest', 'earliest', 'pending', 'safe', 'finalized']);

/** Which block: its number, its hash, or a word; `requireCanonical` changes nothing, no other blocks are stored. */
export const blockId = Type.Union(
  [
    hex('^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$', 'Number of the block'),
    hash,
    tag,
    Type.Object({ blockNumber: Type.Union([quantity, tag]), requireCanonical: Type.Optional(Type.Boolean()) }),
    Type.Object({ blockHash: hash, requireCanonical: Type.Optional(Type.Boolean()) }),
  ],
  { description: 'Number or hash of a block, or latest, earliest, pending, safe, finalized' },
);

const optional = Type.Optional;

/** Values by name, where every name has a form of its own. */
const named = <Value extends TSchema>(name: TSchema & { pattern?: string }, value: Value, description?: string) =>
  Type.Unsafe<Record<string, Static<Value>>>({
    type: 'object',
    patternProperties: { [name.pattern ?? '']: value },
    additionalProperties: false,
    ...(description !== undefined && { description }),
  });

/** Slots named in advance. */
export const accessList = Type.Array(Type.Object({ address, storageKeys: Type.Optional(Type.Array(hash)) }));

/** The first bytes of a key in a trie. */
export const slotKey = hex('^0x([0-9a-fA-F]{2}){0,32}$', 'Up to 32 bytes in hex digits');

/** A call or an unsigned transaction. */
export const callRequest = Type.Object(
  {
    type: optional(quantity),
    chainId: optional(quantity),
    from: optional(address),
    to: optional(Type.Union([address, Type.Null()])),
    gas: optional(quantity),
    gasPrice: optional(quantity),
    maxFeePerGas: optional(quantity),
    maxPriorityFeePerGas: optional(quantity),
    maxFeePerBlobGas: optional(quantity),
    value: optional(quantity),
    nonce: optional(quantity),
    input: optional(bytes),
    data: optional(bytes),
    accessList: optional(accessList),
    blobVersionedHashes: optional(Type.Array(hash)),
    authorizationList: optional(
      Type.Array(Type.Object({ chainId: quantity, address, nonce: quantity, yParity: quantity, r: slot, s: slot })),
    ),
  },
  { description: 'A call' },
);

/** A call's overrides of accounts. */
export const stateOverrides = named(
  address,
  Type.Object({
    balance: optional(quantity),
    nonce: optional(quantity),
    code: optional(bytes),
    state: optional(named(slot, slot)),
    stateDiff: optional(named(slot, slot)),
    movePrecompileToAddress: optional(address),
    MovePrecompileToAddress: optional(address),
  }),
  'Overrides by address',
);

const quantity64 = hex('^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$', 'Number of 64 bits in hex digits');

/** Withdrawals of the beacon chain. */
export const withdrawals = Type.Array(
  Type.Object({ index: quantity64, validatorIndex: quantity64, address, amount: quantity64 }),
);

/** A call's overrides of its block. */
export const blockOverrides = Type.Object(
  {
    number: optional(quantity),
    time: optional(quantity),
    gasLimit: optional(quantity),
    feeRecipient: optional(address),
    coinbase: optional(address),
    prevRandao: optional(slot),
    random: optional(slot),
    baseFeePerGas: optional(quantity),
    baseFee: optional(quantity),
    blobBaseFee: optional(quantity),
    beaconRoot: optional(hash),
    difficulty: optional(quantity),
    withdrawals: optional(withdrawals),
  },
  { description: 'Overrides of the block' },
);
