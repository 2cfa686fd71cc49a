import { fromBinary, type JsonObject, toJson } from '@bufbuild/protobuf';
import { base64 } from '@scure/base';
import { CascadeMetadataSchema, SenseMetadataSchema } from '../../gen/chain/action/v1/metadata_pb.ts';
import { parseBounded } from '../../kit/bounded-json.ts';
import { asObject, freeText } from './values.ts';

const schemas = { cascade: CascadeMetadataSchema, sense: SenseMetadataSchema } as const;

/** The two kinds of actions that the chain knows. */
export type ActionKind = keyof typeof schemas;

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
