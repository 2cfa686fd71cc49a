import { fromBinary, type JsonObject, toJson } from '@bufbuild/protobuf';
import { base64 } from '@scure/base';
import type { ActionRecord } from '../../../commands/sync/action-states.ts';
import type { SuperNodeRecord, ValidatorRecord } from '../../../commands/sync/listed.ts';
import { type ActionType, bondStates, chainStates, superNodeStates } from '../../../events/words.ts';
import { CascadeMetadataSchema, SenseMetadataSchema } from '../../gen/chain/action/v1/metadata_pb.ts';
import { parseBounded } from '../../../kit/bounded-json.ts';
import {
  address,
  asObject,
  BadRecord,
  cappedCount,
  coin,
  enumWord,
  freeText,
  height,
  isActionId,
  objects,
  optionalHeight,
  shortList,
  timeOfSeconds,
} from './values.ts';

type Json = Readonly<Record<string, unknown>>;

/** Characters of base64; real metadata has a few thousand, and an event has to fit in one message of any broker. */
const longestMetadata = 256 * 1024;

/** The oldest SuperNode version in the answer to the SuperNode module's `params`; undefined where it names none. */
export function minimumVersionOf(body: unknown): string | undefined {
  const version = asObject(asObject(body)?.['params'])?.['min_supernode_version'];
  return typeof version === 'string' && version !== '' ? freeText(version, 'min_supernode_version') : undefined;
}

/** The id that a record claims, readable or not otherwise. */
export function actionIdOf(record: unknown): string | undefined {
  const id = asObject(record)?.['actionID'];
  return isActionId(id) ? id : undefined;
}

/** The chain's enum has them in this order, from 1. */
const typesByNumber = ['sense', 'cascade'] as const satisfies readonly ActionType[];

/** An action's record; texts are read by the rules of `freeText`, ill-formed addresses and amounts are refused. */
export function parseAction(record: Json, prefix: string): ActionRecord {
  const kind = enumWord(record['actionType'], 'ACTION_TYPE_', typesByNumber);
  const metadata = bytesInBase64(record['metadata'], 'metadata');
  return {
    kind,
    creator: address(record['creator'], prefix, 'creator'),
    height: optionalHeight(record['blockHeight'], 'blockHeight'),
    price: coin(record['price'], 'price'),
    fileSizeKbs: cappedCount(record['fileSizeKbs'], 'fileSizeKbs'),
    metadata,
    dataHash: dataHashOf(kind, metadata),
    chainState: enumWord(record['state'], 'ACTION_STATE_', chainStates),
    expiresAt: timeOfSeconds(record['expirationTime'], 'expirationTime'),
    accounts: accountsIn(record['superNodes'], prefix),
  };
}

function bytesInBase64(value: unknown, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string' && value.length > longestMetadata) throw new BadRecord(`${field} is too long`);
  try {
    if (typeof value === 'string') return base64.encode(base64.decode(value));
  } catch {
    // Falls through to the one refusal.
  }
  throw new BadRecord(`${field} is no base64`);
}

function accountsIn(value: unknown, prefix: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new BadRecord('superNodes is no list');
  return [...new Set(shortList(value, 'superNodes').map((one: unknown) => address(one, prefix, 'superNodes')))];
}

/**
 * The operator that a SuperNode's record claims; fails where it claims none, so that no operator's absence is believed.
 */
export function operatorOf(record: Json, field: 'validator_address' | 'operator_address', prefix: string): string {
  return address(record[field], `${prefix}valoper`, field);
}

/** A SuperNode's record: of each of its histories, which are in no order, the entry of the greatest height counts. */
export function parseSuperNode(record: Json, prefix: string): SuperNodeRecord {
  const states = byHeight(record['states'], 'states');
  const state = states.at(-1);
  if (state === undefined) throw new BadRecord('states is empty');
  const registered = states[0]?.height;
  const account = address(record['supernode_account'], prefix, 'supernode_account');
  return {
    state: enumWord(state.entry['state'], 'SUPERNODE_STATE_', superNodeStates),
    stateHeight: state.height,
    stateReason: freeText(state.entry['reason'], 'reason'),
    address: freeText(byHeight(record['prev_ip_addresses'], 'prev_ip_addresses').at(-1)?.entry['address'], 'address'),
    account,
    accounts: accountHistory(record['prev_supernode_accounts'], { account, prefix, registered: registered ?? 0 }),
    note: freeText(record['note'], 'note'),
    p2pPort: freeText(record['p2p_port'], 'p2p_port'),
    ...(registered === undefined ? {} : { registeredHeight: registered }),
  };
}

/** Entries in the order of their heights; of equal ones the later entry comes last. */
function byHeight(value: unknown, field: string): readonly { entry: Json; height: number }[] {
  return shortList(objects(value, field), field)
    .map((entry) => ({ entry, height: height(entry['height'] ?? '0', `${field}.height`) }))
    .toSorted((a, b) => a.height - b.height);
}

/** The accounts in turn, the one in use last; where the history leaves that out, it counts from the last entry on. */
function accountHistory(
  value: unknown,
  { account, prefix, registered }: { account: string; prefix: string; registered: number },
): SuperNodeRecord['accounts'] {
  const history: { account: string; height: number }[] = [];
  for (const { entry, height: since } of byHeight(value, 'prev_supernode_accounts')) {
    const one = address(entry['account'], prefix, 'prev_supernode_accounts');
    if (history.at(-1)?.account !== one) history.push({ account: one, height: since });
  }
  if (history.at(-1)?.account !== account) history.push({ account, height: history.at(-1)?.height ?? registered });
  return history;
}

/** A validator, as far as it counts here. */
export function parseValidator(record: Json): ValidatorRecord {
  const jailed = record['jailed'] ?? false;
  if (typeof jailed !== 'boolean') throw new BadRecord('jailed is neither true nor false');
  return {
    moniker: freeText(asObject(record['description'])?.['moniker'], 'moniker'),
    status: enumWord(record['status'], 'BOND_STATUS_', bondStates),
    jailed,
  };
}

const schemas = { cascade: CascadeMetadataSchema, sense: SenseMetadataSchema } as const;

/** The two kinds of actions that the chain knows. */
type ActionKind = keyof typeof schemas;

/**
 * The chain's metadata bytes, in base64, with the chain's field names; undefined where they are none of this kind.
 *
 * 64-bit numbers and bytes are text, as the chain's own JSON has them; fields that were never set are left out.
 *
 * @example decodeMetadata('cascade', 'CgFo')?.['data_hash'] // 'h'
 */
export function decodeMetadata(kind: ActionKind, metadata: string): JsonObject | undefined {
  if (metadata === '') return undefined;
  const schema = schemas[kind];
  try {
    const json = toJson(schema, fromBinary(schema, base64.decode(metadata), { readUnknownFields: false }), {
      useProtoFieldName: true,
    });
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The data hash that metadata names; empty where it names none. */
export function dataHashOf(kind: ActionKind, metadata: string): string {
  return freeText(decodeMetadata(kind, metadata)?.['data_hash'], 'data_hash');
}

/** The data hash in a register message, whose metadata is JSON in a text; empty where there is none. */
export function dataHashOfMessage(message: unknown): string {
  const metadata = asObject(message)?.['metadata'];
  if (typeof metadata !== 'string') return '';
  try {
    const dataHash = asObject(parseBounded(metadata))?.['data_hash'];
    return typeof dataHash === 'string' ? freeText(dataHash, 'data_hash') : '';
  } catch {
    return '';
  }
}
