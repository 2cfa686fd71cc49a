import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from '@bufbuild/protobuf';

type JsonObject = Readonly<Record<string, JsonValue | undefined>>;

/**
 * A message as real nodes write it: names of the proto file, zero values present, 64-bit numbers as text, absent
 * messages null, keys of maps in order.
 *
 * @example
 * protoJson(StatusResponseSchema, { version: 'v1' }) // { version: 'v1', uptime_seconds: '0', resources: null, … }
 */
export function protoJson<D extends DescMessage>(schema: D, init: MessageInitShape<D>): object {
  const desc: DescMessage = schema;
  return complete(desc, toJson(desc, create(schema, init), { alwaysEmitImplicit: true, useProtoFieldName: true }));
}

function complete(schema: DescMessage, json: JsonValue): object {
  const known = objectOf(json);
  return Object.fromEntries(schema.fields.map((field) => [field.name, valueOf(field, known[field.name])]));
}

function valueOf(field: DescField, value: JsonValue | undefined): unknown {
  switch (field.fieldKind) {
    case 'message':
      return value === undefined ? null : complete(field.message, value);
    case 'list':
      return field.message && Array.isArray(value) ? value.map((item) => complete(field.message, item)) : value;
    case 'map': {
      const entries = Object.entries(objectOf(value)).toSorted(([a], [b]) => (a < b ? -1 : 1));
      return Object.fromEntries(entries.map(([key, item]) => [key, mapValue(field.message, item)]));
    }
    case 'scalar':
    case 'enum':
      return value;
  }
}

function mapValue(schema: DescMessage | undefined, value: JsonValue | undefined): unknown {
  return schema && value !== undefined ? complete(schema, value) : value;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
