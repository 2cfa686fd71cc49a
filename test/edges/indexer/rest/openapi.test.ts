import Schema from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRest, asRecord, type RestServer } from './rest-server.ts';
import { alpha, delta, sample } from './sample.ts';

type Node = Readonly<Record<string, unknown>>;

let rest: RestServer;
let document: Node;
beforeAll(async () => {
  rest = await startRest(sample, { settings: { allowManualSync: true } });
  document = (await rest.get('/openapi.json')).body;
});
afterAll(async () => await rest.close());

/** Every object in a value, with the way to it. */
function* objectsIn(value: unknown, way = '#'): Generator<readonly [string, Node]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [way, asRecord(value)];
  for (const [name, inner] of Object.entries(value)) yield* objectsIn(inner, `${way}/${name}`);
}

const at = (way: string): unknown =>
  way
    .slice(2)
    .split('/')
    .reduce<unknown>((place, name) => asRecord(place)[name], document);

/** Keywords that a Schema Object of OpenAPI 3.0.3 has, as far as they are used here. */
const keywords = [
  'type',
  'format',
  'pattern',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'default',
  'description',
  'nullable',
  'properties',
  'required',
  'items',
  'additionalProperties',
  '$ref',
];
const types = ['string', 'integer', 'number', 'boolean', 'object', 'array'];

/** All Schema Objects: below `schema`, in the components, and nested in those. */
function* schemas(): Generator<readonly [string, Node]> {
  for (const [way, node] of objectsIn(document)) {
    const [parent = '', name = ''] = way.split('/').slice(-2);
    const isNested = /\/(schema|schemas\/\w+)(\/|$)/.test(way) && (parent === 'properties' || name === 'items');
    if (name === 'schema' || /^#\/components\/schemas\/\w+$/.test(way) || isNested) yield [way, node];
  }
}

/** A schema of OpenAPI 3.0 as JSON Schema: references inlined, `nullable` as a second type. */
function asJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, $ref, ...others } = asRecord(schema);
  if (typeof $ref === 'string') return asJsonSchema(at($ref));
  const plain = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, asJsonSchema(value)]));
  return nullable === true ? { anyOf: [plain, { type: 'null' }] } : plain;
}

describe('GET /openapi.json', () => {
  it(
    'is OpenAPI 3.0 with every route',
    { tags: ['S2.service.serve', 'S2.ops.openapi', 'S2.versioning.openapi'] },
    () => {
      expect(document.openapi).toBe('3.0.3');
      expect(
        Object.entries(asRecord(document.paths))
          .map(([path, methods]) => `${Object.keys(asRecord(methods)).join()} ${path}`)
          .toSorted(),
      ).toEqual([
        'get /healthz',
        'get /live',
        'get /log/{stream}/checkpoint',
        'get /log/{stream}/events',
        'get /log/{stream}/events/{sequence}',
        'get /log/{stream}/events/{sequence}/previous',
        'get /log/{stream}/proofs/{sequence}',
        'get /log/{stream}/tile/{*}',
        'get /log/{stream}/vkey',
        'get /metrics',
        'get /openapi.json',
        'get /readyz',
        'get /v1/actions',
        'get /v1/actions/stats',
        'get /v1/actions/{id}',
        'get /v1/actions/{id}/events',
        'get /v1/actions/{id}/versions',
        'get /v1/causes/{id}',
        'get /v1/incidents',
        'get /v1/logs',
        'get /v1/supernodes/action-stats',
        'get /v1/supernodes/availability',
        'get /v1/supernodes/metrics',
        'get /v1/supernodes/records',
        'get /v1/supernodes/stats',
        'get /v1/supernodes/unavailable',
        'get /v1/supernodes/{id}/availability',
        'get /v1/supernodes/{id}/events',
        'get /v1/supernodes/{id}/incidents',
        'get /v1/supernodes/{id}/metrics',
        'get /v1/supernodes/{id}/paymentInfo',
        'get /v1/supernodes/{id}/record',
        'get /v1/supernodes/{id}/versions',
        'get /v1/transactions/{hash}/events',
        'get /v1/version/matrix',
        'get /webhooks.pub',
        'post /v1/supernodes/sync',
      ]);
    },
  );

  it(
    'uses nothing that 3.0.3 has not: no null type, no union, no const, no dangling reference',
    { tags: ['S2.ops.openapi', 'S2.versioning.openapi'] },
    () => {
      const found = [...schemas()];
      expect(found.length).toBeGreaterThan(150);
      for (const [way, schema] of found) {
        expect([way, Object.keys(schema).filter((name) => !keywords.includes(name))]).toEqual([way, []]);
        if ('$ref' in schema)
          expect([way, Object.keys(schema), typeof at(String(schema.$ref))]).toEqual([way, ['$ref'], 'object']);
        else expect([way, types.includes(String(schema.type))]).toEqual([way, true]);
        if (schema.nullable) expect([way, schema.enum]).toEqual([way, undefined]);
      }
    },
  );

  it('describes every operation, parameter and answer, refusals and headers too', { tags: ['S2.ops.openapi'] }, () => {
    const operations = [...objectsIn(document.paths)].filter(([, node]) => 'responses' in node);
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(37);
    for (const [way, { summary, tags, parameters = [], responses }] of operations) {
      expect([way, typeof summary, Array.isArray(tags)]).toEqual([way, 'string', true]);
      if (!Array.isArray(parameters)) throw new Error(`Parameters of ${way} are no list`);
      for (const parameter of parameters.map(asRecord))
        expect([way, parameter.name, typeof parameter.description]).toEqual([way, parameter.name, 'string']);
      for (const [status, answer] of Object.entries(asRecord(responses)))
        expect([way, status, asRecord(answer).description]).toEqual([
          way,
          status,
          expect.stringMatching(/^[A-Z`].*\.$/),
        ]);
    }
    const list = asRecord(asRecord(document.paths)['/v1/actions']);
    const [ok, refused] = [200, 400].map((status) => asRecord(asRecord(asRecord(list.get).responses)[status]));
    expect(Object.keys(asRecord(ok?.headers))).toEqual([
      'Annals-Position',
      'Annals-Lag-Ms',
      'Annals-Chain-Age-Ms',
      'Annals-As-Of',
      'Memento-Datetime',
      'ETag',
      'Cache-Control',
    ]);
    expect(JSON.stringify(refused?.content)).toContain('#/components/schemas/Error');
  });

  it(
    'names defaults and bounds',
    { tags: ['S2.actions.limit', 'S2.limits.actions-default', 'S2.metrics-list.limit', 'S2.limits.metrics-default'] },
    () => {
      const limitOf = (path: string) => {
        const { parameters } = asRecord(asRecord(asRecord(document.paths)[path]).get);
        return Array.isArray(parameters)
          ? parameters.map(asRecord).find(({ name }) => name === 'limit')?.schema
          : undefined;
      };
      expect(limitOf('/v1/actions')).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 20 });
      expect(limitOf('/v1/supernodes/metrics')).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 50 });
    },
  );
});

describe('every answer', () => {
  const asked = [
    ['get', '/v1/actions', '/v1/actions?include_transactions=true&limit=5'],
    ['get', '/v1/actions', '/v1/actions?limit=x'],
    ['get', '/v1/actions/{id}', '/v1/actions/1'],
    ['get', '/v1/actions/{id}', '/v1/actions/8'],
    ['get', '/v1/actions/{id}', '/v1/actions/nothing'],
    ['get', '/v1/actions/stats', '/v1/actions/stats'],
    ['get', '/v1/supernodes/metrics', '/v1/supernodes/metrics?limit=3'],
    ['get', '/v1/supernodes/{id}/metrics', `/v1/supernodes/${delta}/metrics`],
    ['get', '/v1/supernodes/{id}/paymentInfo', `/v1/supernodes/${alpha}/paymentInfo`],
    ['get', '/v1/supernodes/records', '/v1/supernodes/records?limit=2'],
    ['get', '/v1/supernodes/records', '/v1/supernodes/records?at_height=2'],
    ['get', '/v1/supernodes/{id}/record', `/v1/supernodes/${alpha}/record`],
    ['get', '/v1/supernodes/stats', '/v1/supernodes/stats'],
    ['get', '/v1/supernodes/action-stats', '/v1/supernodes/action-stats'],
    ['get', '/v1/supernodes/unavailable', '/v1/supernodes/unavailable'],
    ['get', '/v1/supernodes/availability', '/v1/supernodes/availability?limit=2'],
    ['get', '/v1/supernodes/{id}/availability', `/v1/supernodes/${alpha}/availability?window=3d&resolution=1h`],
    ['get', '/v1/supernodes/{id}/incidents', `/v1/supernodes/${alpha}/incidents`],
    ['get', '/v1/incidents', '/v1/incidents?state=open'],
    ['post', '/v1/supernodes/sync', '/v1/supernodes/sync'],
    ['get', '/v1/version/matrix', '/v1/version/matrix'],
    ['get', '/healthz', '/healthz'],
    ['get', '/readyz', '/readyz'],
  ] as const;

  it.each(asked)('to %s %s is as the document says', { tags: ['S2.ops.openapi'] }, async (method, route, path) => {
    const { status, body } = await rest.get(path, { method: method.toUpperCase() });
    const answer = asRecord(asRecord(asRecord(asRecord(asRecord(document.paths)[route])[method]).responses)[status]);
    const schema = asRecord(asRecord(asRecord(answer.content)['application/json'])).schema;
    const [isValid, problems] = Schema.Errors(asRecord(asJsonSchema(schema)), body);
    expect([status, isValid, problems]).toEqual([status, true, []]);
    const described = Object.keys(asRecord(asRecord(asJsonSchema(schema)).properties));
    expect(Object.keys(body).filter((name) => !described.includes(name))).toEqual([]);
  });
});

describe('GET /docs', () => {
  it('comes from the pages, beside the document that they read', { tags: ['S2.ops.docs'] }, async () => {
    const { registerPages } = await import('../../../../src/edges/indexer/pages/pages.ts');
    const about = async () => ({
      network: 'x',
      chain: null,
      nats: null,
      natsWebSocket: null,
      chainUrl: null,
      gatewayUrl: null,
      hasEvm: false,
    });
    const models = async () => ({ projections: [], archive: [], losses: [] });
    const server = await startRest([], {
      registerPages: async (app) =>
        await registerPages(app, { about, models, activity: undefined, local: undefined, contracts: [] }),
    });
    const [page, home] = [await server.get('/docs'), await server.get('/')];
    await server.close();
    for (const { status, headers } of [page, home])
      expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  });
});
