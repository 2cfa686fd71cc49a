import fc from 'fast-check';
import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reading } from '../../../../src/projections/reading.ts';
import { loadReading } from '../../../support/histories/load-projection.ts';
import { asRecord, asRecords, type RestServer, startRest, walk } from './rest-server.ts';
import { address, alpha, creators, sample } from './sample.ts';

const mostStatements = 8;
const longest = 7_000;

let rest: RestServer;
let reading: Reading;
let close: () => Promise<void>;
const statements = new Map<string, RootOperationNode>();
let count = 0;

/** Sees every statement that is sent. */
const watching: KyselyPlugin = {
  transformQuery: ({ node, queryId }) => {
    count += 1;
    statements.set(reading.db.getExecutor().compileQuery(node, queryId).sql, node);
    return node;
  },
  transformResult: async ({ result }) => result,
};

beforeAll(async () => {
  ({ reading, close } = await loadReading(sample));
  const watched = { ...reading, db: reading.db.withPlugin(watching) };
  const reader = { read: <T>(use: (look: Reading) => Promise<T>) => use(watched), generations: async () => [] };
  rest = await startRest(sample, { reader });
});
afterAll(async () => {
  await rest.close();
  await close();
});

const oneOf = (...values: readonly string[]): fc.Arbitrary<string | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
const parameters = fc.record({
  type: oneOf('cascade', 'sense'),
  state: oneOf('registered', 'finalized', 'approved'),
  creator: oneOf(...creators, address('lumera', 99)),
  supernode: oneOf(alpha, address('lumeravaloper', 99), address('lumera', 21)),
  fromHeight: oneOf('0', '1', '15', '9007199254740991'),
  toHeight: oneOf('0', '20', '9007199254740991'),
  from: oneOf('0001-01-01T00:00:00Z', '2026-01-01T00:00:00Z'),
  to: oneOf('2026-01-01T00:20:00Z', '9999-12-31T23:59:59Z'),
  dataHash: oneOf('hash', 'a'.repeat(64)),
  limit: oneOf('1', '3', '200'),
  include_transactions: oneOf('true'),
  status: oneOf('available', 'unavailable'),
  currentState: oneOf('active', 'jailed', 'postponed'),
  version: oneOf('v2.5.0', 'v0', 'x'.repeat(longest)),
  minFailedProbeCounter: oneOf('0', '1', '9007199254740991'),
});
const route = fc.constantFrom(
  '/v1/actions',
  '/v1/actions/stats',
  '/v1/actions/1',
  `/v1/actions/${'9'.repeat(78)}`,
  '/v1/supernodes/metrics',
  `/v1/supernodes/${alpha}/metrics`,
  `/v1/supernodes/${alpha}/paymentInfo`,
  '/v1/supernodes/unavailable',
  '/v1/supernodes/stats',
  '/v1/supernodes/action-stats',
  '/v1/version/matrix',
);

describe('what a request costs', () => {
  it('is a bounded number of statements, each with an index to follow', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(route, parameters, async (path, given) => {
        const pairs = Object.entries(given).flatMap(([name, value = '']) => (value === '' ? [] : [`${name}=${value}`]));
        count = 0;
        const { status } = await rest.get(`${path}?${pairs.join('&')}`);
        expect(status).toBeLessThan(500);
        expect(count).toBeLessThanOrEqual(mostStatements);
      }),
      { numRuns: 400 },
    );
    expect(statements.size).toBeGreaterThan(10);
    expect(await unindexedScans('select * from s_actions.actions where metadata = $1')).toEqual(['actions']);
    for (const text of statements.keys()) expect(await unindexedScans(text), text).toEqual([]);
  });

  it(
    'of a cursor that is none is nothing: no statement is sent',
    { tags: ['S2.open.cursor'], timeout: 60_000 },
    async () => {
      const cursorsOf = async (path: string): Promise<string[]> =>
        (await walk(rest, path)).flatMap(({ body }) => (typeof body.cursor === 'string' ? [body.cursor] : []));
      const own = await cursorsOf('/v1/actions?limit=5');
      const foreign = [
        ...(await cursorsOf('/v1/supernodes/metrics?limit=1')),
        ...(await cursorsOf('/v1/actions?type=cascade&limit=3')),
      ];
      const [first = ''] = own;
      const flipped = fc.nat(Buffer.from(first, 'base64url').length * 8 - 1).map((bit) => {
        const bytes = Buffer.from(first, 'base64url');
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return bytes.toString('base64url');
      });
      const wrong = fc.oneof(
        flipped,
        fc.nat(first.length - 1).map((length) => first.slice(0, length)),
        fc.constantFrom(...foreign),
        fc.constantFrom(first + first, `${first}=`, ` ${first}`, 'A'.repeat(longest), first.toUpperCase()),
        fc.uint8Array({ minLength: 29, maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      );
      await fc.assert(
        fc.asyncProperty(wrong, async (cursor) => {
          count = 0;
          const { status, body } = await rest.get(`/v1/actions?cursor=${encodeURIComponent(cursor)}`);
          expect([status, body.code, count]).toEqual([400, 'INVALID_ARGUMENT', 0]);
        }),
        { numRuns: 300 },
      );
    },
  );
});

/** The tables of actions that a statement would read from end to end even where sequential scans are to be avoided. */
async function unindexedScans(text: string): Promise<readonly unknown[]> {
  const plan = await reading.db.transaction().execute(async (transaction) => {
    await sql`set local enable_seqscan = off`.execute(transaction);
    return await sql<
      Record<string, unknown>
    >`${sql.raw(`explain (generic_plan, verbose, format json) ${text}`)}`.execute(transaction);
  });
  return nodesOf(asRecords(Object.values(plan.rows[0] ?? {})[0])[0]?.Plan)
    .filter((node) => node['Node Type'] === 'Seq Scan' && node.Schema === 's_actions')
    .map((node) => node['Relation Name']);
}

function nodesOf(plan: unknown): Readonly<Record<string, unknown>>[] {
  const node = asRecord(plan);
  return [node, ...(node.Plans === undefined ? [] : asRecords(node.Plans).flatMap(nodesOf))];
}
