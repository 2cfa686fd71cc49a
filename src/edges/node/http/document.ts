import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { ListServicesResponseSchema, StatusResponseSchema } from '../../gen/supernode/supernode_pb.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The schema of an answer that has no message of its own: `node` is its account. */
const filesSchema: Schema = {
  type: 'object',
  properties: {
    node: { type: 'string' },
    files: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          action_id: { type: 'string' },
          bytes: { type: 'string', description: 'A 64-bit number as text' },
          pieces: { type: 'integer' },
          state: { type: 'string', enum: ['stored', 'lost'] },
        },
      },
    },
    next: { type: 'string', description: 'There are more files: `after` of the next request' },
    scrub: {
      type: 'object',
      description: 'How the last reading of all pieces ended',
      properties: {
        started_at: { type: 'string', format: 'date-time' },
        finished_at: { type: 'string', format: 'date-time' },
        pieces: { type: 'integer' },
        damaged: { type: 'integer' },
        mended: { type: 'integer' },
      },
    },
  },
};

const refusalSchema: Schema = {
  type: 'object',
  properties: { code: { type: 'integer' }, message: { type: 'string' }, details: { type: 'array', items: {} } },
};
const refusal = (description: string): object => ({
  description,
  content: { 'application/json': { schema: refusalSchema } },
});

const filesPage = [
  {
    name: 'after',
    in: 'query',
    description: 'Only files of later actions',
    schema: { type: 'string', pattern: '^[1-9]\\d{0,77}$' },
  },
  {
    name: 'limit',
    in: 'query',
    description: 'How many files',
    schema: { type: 'integer', minimum: 1, maximum: 1000, default: 1000 },
  },
];

/** The OpenAPI document of a node's HTTP port; its schemas follow from the messages. */
export function documentOf(version: string): object {
  const schemas = new Map<string, Schema>();
  const answer = (message: DescMessage): object => ({
    200: { description: 'The answer', content: { 'application/json': { schema: schemaOf(message, schemas) } } },
  });
  const withP2pMetrics = {
    name: 'include_p2p_metrics',
    in: 'query',
    description: 'Whether the answer carries `p2p_metrics`; `includeP2pMetrics` is taken too',
    schema: { type: 'boolean', default: false },
  };
  return {
    openapi: '3.0.3',
    info: { title: 'SuperNode', version, description: 'What this SuperNode says about itself.' },
    paths: {
      '/api/v1/status': {
        get: {
          operationId: 'getStatus',
          summary: 'A snapshot of the node’s health',
          tags: ['SupernodeService'],
          parameters: [withP2pMetrics],
          responses: { ...answer(StatusResponseSchema), 400: refusal('The parameter is no boolean; `code` is 3') },
        },
      },
      '/api/v1/services': {
        get: {
          operationId: 'listServices',
          summary: 'The gRPC services that the node serves',
          tags: ['SupernodeService'],
          responses: answer(ListServicesResponseSchema),
        },
      },
      '/api/v1/files': {
        get: {
          operationId: 'listFiles',
          summary: 'Files that the node holds, or held and lost; without names',
          tags: ['Files'],
          parameters: filesPage,
          responses: {
            400: refusal('A parameter is out of bounds; `code` is 3'),
            200: { description: 'The answer', content: { 'application/json': { schema: filesSchema } } },
            503: refusal('The read models cannot be read now; `code` is 14'),
          },
        },
      },
    },
    components: { schemas: Object.fromEntries(schemas) },
  };
}

/** A reference to the schema of a message, which is filed with those that it needs. */
function schemaOf(message: DescMessage, filed: Map<string, Schema>): Schema {
  if (!filed.has(message.typeName)) {
    filed.set(message.typeName, {});
    const properties = message.fields.map((field) => [field.name, fieldSchema(field, filed)] as const);
    filed.set(message.typeName, { type: 'object', properties: Object.fromEntries(properties) });
  }
  return { $ref: `#/components/schemas/${message.typeName}` };
}

function fieldSchema(field: DescField, filed: Map<string, Schema>): Schema {
  switch (field.fieldKind) {
    case 'message':
      // Beside a reference OpenAPI 3.0 reads nothing else.
      return { allOf: [schemaOf(field.message, filed)], nullable: true };
    case 'scalar':
      return scalarSchema(field.scalar);
    case 'enum':
      return { type: 'string' };
    case 'list':
      return { type: 'array', items: field.message ? schemaOf(field.message, filed) : scalarSchema(field.scalar) };
    case 'map': {
      const item = field.message ? schemaOf(field.message, filed) : scalarSchema(field.scalar);
      return { type: 'object', additionalProperties: item };
    }
  }
}

/** How protobuf's JSON writes the types that a status has: 64-bit numbers as text. */
const scalarSchemas: Readonly<Partial<Record<ScalarType, Schema>>> = {
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.DOUBLE]: { type: 'number' },
  [ScalarType.INT32]: { type: 'integer' },
  [ScalarType.UINT32]: { type: 'integer' },
  [ScalarType.INT64]: { type: 'string', description: 'A 64-bit number as text' },
  [ScalarType.UINT64]: { type: 'string', description: 'A 64-bit number as text' },
};

function scalarSchema(scalar: ScalarType | undefined): Schema {
  return (scalar && scalarSchemas[scalar]) ?? { type: 'string' };
}
