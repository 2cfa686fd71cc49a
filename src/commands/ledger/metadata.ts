import { BinaryWriter, base64Encode } from '@bufbuild/protobuf/wire';
import { TransactionFailed } from './failure.ts';

/** The two kinds of actions that can be registered. */
export type LedgerActionType = 'ACTION_TYPE_SENSE' | 'ACTION_TYPE_CASCADE';

type Limits = Readonly<{ maxRaptorQSymbols: number; maxDdAndFingerprints: number }>;

/** A Cascade action's record of its file; the ids follow with the finalization. */
export type CascadeMetadata = Readonly<{
  kind: 'cascade';
  dataHash: string;
  fileName: string;
  idsCounter: number;
  idsMax: number;
  ids: readonly string[];
  signatures: string;
  isPublic: boolean;
}>;

/** A Sense action's record of its image until the action is finalized. */
export type SenseMetadata = Readonly<{
  kind: 'sense';
  dataHash: string;
  idsCounter: number;
  collectionId: string;
  groupId: string;
  idsMax: number;
}>;
/** An action's record of its content. */
export type Metadata = CascadeMetadata | SenseMetadata;

/** Reads the JSON text of a registration; the chain adds the number of ids that it requires. */
export function requestedMetadata(type: LedgerActionType, text: string, params: Limits): Metadata {
  const fields = parseFields(text);
  const dataHash = textField(fields, 'data_hash');
  if (dataHash === '') throw new TransactionFailed('metadata', 'data_hash is required');
  if (type === 'ACTION_TYPE_SENSE') {
    const idsCounter = counterField(fields, 'dd_and_fingerprints_ic');
    const collectionId = textField(fields, 'collection_id');
    return {
      kind: 'sense',
      dataHash,
      idsCounter,
      collectionId,
      groupId: textField(fields, 'group_id'),
      idsMax: params.maxDdAndFingerprints,
    };
  }
  const fileName = textField(fields, 'file_name');
  const idsCounter = counterField(fields, 'rq_ids_ic');
  const signatures = textField(fields, 'signatures');
  const isPublic = fields['public'] === true;
  return {
    kind: 'cascade',
    dataHash,
    fileName,
    idsCounter,
    idsMax: params.maxRaptorQSymbols,
    ids: [],
    signatures,
    isPublic,
  };
}

/** The ids that a finalization names, empty where it names none. */
export function finalizedIds(type: LedgerActionType, text: string): readonly string[] {
  const ids = parseFields(text)[type === 'ACTION_TYPE_SENSE' ? 'dd_and_fingerprints_ids' : 'rq_ids_ids'];
  const named = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  if (named.some((id) => id.length > longestId))
    throw new TransactionFailed('metadata', `an id has more than ${longestId} characters`);
  return named;
}

/** The fields that actions are searched by (`query_action_by_metadata`). */
export function searchableFields(metadata: Metadata | null): Readonly<Record<string, string>> {
  if (metadata === null) return {};
  if (metadata.kind === 'cascade') return { data_hash: metadata.dataHash, file_name: metadata.fileName };
  return { data_hash: metadata.dataHash, collection_id: metadata.collectionId, group_id: metadata.groupId };
}

/** JSON text with the names of the chain's message; empty where an action has no metadata. */
export function metadataText(metadata: Metadata | null): string {
  if (metadata === null) return '';
  const { dataHash, idsCounter, idsMax } = metadata;
  if (metadata.kind === 'sense') {
    const { collectionId, groupId } = metadata;
    return JSON.stringify({
      data_hash: dataHash,
      dd_and_fingerprints_ic: idsCounter,
      dd_and_fingerprints_max: idsMax,
      collection_id: collectionId,
      group_id: groupId,
    });
  }
  const { fileName, ids, signatures, isPublic } = metadata;
  return JSON.stringify({
    data_hash: dataHash,
    file_name: fileName,
    rq_ids_ic: idsCounter,
    rq_ids_max: idsMax,
    rq_ids_ids: ids,
    signatures,
    public: isPublic,
  });
}

/** Base64 of the chain's protobuf message; null where an action has no metadata. */
export function encodedMetadata(metadata: Metadata | null): string | null {
  if (metadata === null) return null;
  const writer = new BinaryWriter();
  const text = (field: number, value: string) => value !== '' && writer.tag(field, 2).string(value);
  const varint = (field: number, value: number) => value !== 0 && writer.tag(field, 0).uint32(value);
  text(1, metadata.dataHash);
  if (metadata.kind === 'sense') {
    varint(2, metadata.idsCounter);
    text(3, metadata.collectionId);
    text(4, metadata.groupId);
    varint(5, metadata.idsMax);
  } else {
    text(2, metadata.fileName);
    varint(3, metadata.idsCounter);
    varint(4, metadata.idsMax);
    for (const id of metadata.ids) text(5, id);
    text(6, metadata.signatures);
    varint(7, metadata.isPublic ? 1 : 0);
  }
  return base64Encode(writer.finish());
}

type Fields = Readonly<Record<string, unknown>>;

/** Characters of each text at most; `signatures` holds an encoded index beside the signature. */
const longest = {
  data_hash: 256,
  file_name: 1_024,
  signatures: 32_768,
  collection_id: 256,
  group_id: 256,
} as const;
const longestId = 256;

function parseFields(text: string): Fields {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // Falls through to the refusal below: text that is no JSON is bad metadata like any other.
  }
  throw new TransactionFailed('metadata', 'metadata is not a JSON object');
}

function textField(fields: Fields, name: keyof typeof longest): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw new TransactionFailed('metadata', `${name} is not text`);
  if (value.length > longest[name])
    throw new TransactionFailed('metadata', `${name} has more than ${longest[name]} characters`);
  return value;
}

function counterField(fields: Fields, name: string): number {
  const value = fields[name] ?? 0;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 0xffff_ffff)
    throw new TransactionFailed('metadata', `${name} is required`);
  return value;
}
