import { execFile } from 'node:child_process';
import { mkdirSync, readlinkSync, statSync } from 'node:fs';
import { request, type RequestOptions } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import Schema from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { isProven, streams, streamTable } from '../../src/events/streams.ts';
import { projectionNames } from '../../src/projections/projection.ts';
import { startAdmin } from '../../src/roles/admin.ts';
import { type Context, openStores } from '../../src/roles/context.ts';
import { startOperations } from '../../src/roles/operations.ts';
import { projector } from '../../src/roles/projector.ts';
import type { Part } from '../../src/roles/role.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { until } from '../support/polling.ts';
import { freshNetwork, serversIn } from '../support/programs/servers.ts';

type Json = Record<string, unknown>;

const token = 'b'.repeat(40);
const stop = new AbortController();
const network = freshNetwork();
const made = freshFolder();
const folder = path.join(made.folder, network);
const parts: Part[] = [];
let context: Context;
let socket = '';

type Answer = Readonly<{ status: number; body: Json; location: string }>;

/** What a request over a socket is answered. */
async function ask(at: string, address: string, options: Pick<RequestOptions, 'method' | 'headers'> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  request({ socketPath: at, path: address, ...options }, (answer) => {
    let text = '';
    answer.setEncoding('utf8').on('data', (part: string) => (text += part));
    const { statusCode: status = 0, headers } = answer;
    answer.on('end', () => resolve({ status, body: JSON.parse(text) as Json, location: headers.location ?? '' }));
  })
    .on('error', reject)
    .end();
  return await promise;
}

const stated = async (name: string): Promise<readonly Json[]> => {
  const { status, body } = await ask(socket, `/admin/v1/${name}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body[name] as readonly Json[];
};

beforeAll(async () => {
  const config = parseConfig({
    DATA_DIR: made.folder,
    NETWORK: network,
    PORT: '0',
    CHECKPOINT_INTERVAL: '1h',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: `${'a'.repeat(32)},night:${token}`,
    DURABILITY: 'relaxed',
  });
  const servers = await serversIn(folder);
  const logger = pino({ level: 'silent' });
  context = await openStores(config, servers, { logger, signal: stop.signal });
  const admin = await startAdmin({ ...context, running: parts });
  parts.push(admin);
  socket = admin.urls['admin'] ?? '';
  for await (const part of projector.start({ ...context, running: parts })) parts.push(part);
});
afterAll(async () => {
  for (const part of parts.toReversed()) await part.stop();
  stop.abort();
  await Promise.all([context.pools.end(), context.broker.close()]);
  made.remove();
});

describe('the administration', () => {
  it('is on a socket that its owner alone may open, as curl does', async () => {
    expect(socket).toBe(path.join(folder, 'admin.sock'));
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const address = 'http://localhost/admin/v1/losses';
    const { stdout } = await promisify(execFile)('curl', ['-sS', '--unix-socket', socket, address]);
    expect(JSON.parse(stdout)).toEqual({ losses: [] });
  });

  it('shows every read model with its status word and its lag in events and seconds', async () => {
    await until('all are live', async () => (await stated('projections')).every(({ status }) => status === 'live'));
    const projections = await stated('projections');
    expect(projections.map(({ name }) => name)).toEqual(projectionNames);
    expect(projections[0]).toMatchObject({ generation: 1, lag_events: 0, lag_seconds: 0, stopped_reason: null });
  });

  it('shows streams, leases with their holders, and how far logs are signed', async () => {
    const states = await stated('streams');
    expect(states.map(({ name }) => name)).toEqual(streams);
    expect(states.find(({ name }) => name === 'POOL')).toMatchObject({ status: 'unarchived', archived: null });
    const held = await until('leases are held', async () => {
      const found = await stated('leases');
      return found.length > projectionNames.length && found;
    });
    expect(held.map(({ name }) => name)).toContain('archive');
    expect(held[0]?.['holder']).toContain(`/${process.pid}/`);
    const logs = await stated('logs');
    expect(logs.map(({ stream }) => stream)).toEqual(streams.filter((one) => isProven(streamTable[one])));
    expect(await stated('sources')).toEqual([]);
  });

  it('answers what its document says, for each of its paths', async () => {
    const { body: document } = await ask(socket, '/admin/openapi.json');
    const { schemas } = document['components'] as { schemas: Json };
    type Answers = Readonly<{ responses: Record<string, { content: Record<string, Json> }> }>;
    const paths = document['paths'] as Record<string, Record<string, Answers>>;
    const inlined = (schema: unknown): unknown => {
      if (Array.isArray(schema)) return schema.map(inlined);
      if (typeof schema !== 'object' || schema === null) return schema;
      const { nullable, $ref, ...others } = schema as Json;
      if (typeof $ref === 'string') return inlined(schemas[$ref.replace('#/components/schemas/', '')]);
      const plain = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, inlined(value)]));
      return nullable === true ? { anyOf: [plain, { type: 'null' }] } : plain;
    };
    const isJson = (one: string) => paths[one]?.['get']?.responses['200']?.content['application/json'] !== undefined;
    const readable = Object.keys(paths).filter((one) => isJson(one) && !one.includes('{'));
    expect(readable).toHaveLength(11);
    for (const one of readable) {
      const { status, body } = await ask(socket, one);
      const schema = inlined(paths[one]?.['get']?.responses['200']?.content['application/json']?.['schema']) as Json;
      const [isValid, problems] = Schema.Errors(schema, body);
      expect([status, isValid], `${one}: ${JSON.stringify(problems)}`).toEqual([200, true]);
    }
  });

  it('refuses what is not there with a stable code', async () => {
    expect(await ask(socket, '/admin/v1/nothing')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  it('is on no port', async () => {
    const operations = await startOperations({ ...context, running: [] });
    parts.push(operations);
    const base = (operations.urls['readiness'] ?? '').replace('/readyz', '');
    for (const one of ['/admin/openapi.json', '/admin/v1/projections', '/admin/v1/leases'])
      expect((await fetch(base + one)).status).toBe(404);
  });

  it('leaves the socket of a process that runs alone, and replaces that of one that is gone', async () => {
    const second = await startAdmin({ ...context, running: parts });
    expect(Object.keys(second.urls)).toEqual(['administration']);
    await second.stop();
    expect((await ask(socket, '/admin/v1/losses')).status).toBe(200);
    const elsewhere = path.join(made.folder, 'killed');
    const left = path.join(elsewhere, 'admin.sock');
    mkdirSync(elsewhere);
    const bind = `require('net').createServer().listen(${JSON.stringify(left)}, () => process.kill(process.pid, 'SIGKILL'))`;
    await promisify(execFile)(process.execPath, ['-e', bind]).catch(() => undefined);
    expect(statSync(left).isSocket()).toBe(true);
    const next = await startAdmin({ ...context, folder: elsewhere, running: parts });
    parts.push(next);
    expect((await ask(left, '/admin/v1/losses')).status).toBe(200);
  });

  it('lies behind a link where the path is too long for a socket', async () => {
    const deep = path.join(made.folder, 'x'.repeat(120));
    const long = await startAdmin({ ...context, folder: deep, running: parts });
    const link = path.join(deep, 'admin.sock');
    expect(readlinkSync(link)).toBe(long.urls['admin']);
    expect((await ask(readlinkSync(link), '/admin/v1/losses')).status).toBe(200);
    await long.stop();
    expect(() => readlinkSync(link)).toThrow('ENOENT');
  });
});

describe('the administration on a port', () => {
  const port = async (address: string, init: RequestInit = {}) =>
    await fetch(new URL(address, parts[0]?.urls['administration']), init);

  it('wants a token, whatever is requested, and lets nobody guess', async () => {
    expect(parts[0]?.urls['administration']).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
    for (const authorization of ['', 'Bearer', `Bearer ${token}x`, `Basic ${token}`, `Bearer night:${token}`])
      for (const address of ['/admin/v1/losses', '/admin/openapi.json', '/admin/v1/projections/rounds/rebuild']) {
        const method = address.endsWith('rebuild') ? 'POST' : 'GET';
        const answer = await port(address, { method, headers: authorization === '' ? {} : { authorization } });
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
        expect(await answer.json()).toMatchObject({ code: 'UNAUTHORIZED' });
      }
  });

  it('records acts under the name of their token', async () => {
    const headers = { authorization: `Bearer ${token}` };
    const started = await port('/admin/v1/projections/rounds/resume', { method: 'POST', headers });
    expect(started.status).toBe(202);
    expect(await started.json()).toMatchObject({ act: 'resume', operator: { via: 'token', name: 'night' } });
    const document = (await (await port('/admin/openapi.json', { headers })).json()) as Json;
    expect(document).toMatchObject({ components: { securitySchemes: { adminToken: { scheme: 'bearer' } } } });
  });

  it('bounds what one address requests, with a code of its own', async () => {
    const refused = await until('there were too many', async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, () => port('/admin/v1/sources')));
      const read = await Promise.all(
        answers.map(async (one) => ({
          status: one.status,
          after: one.headers.get('retry-after'),
          body: await one.json(),
        })),
      );
      return read.find(({ status }) => status === 429);
    });
    expect(refused).toMatchObject({ after: expect.stringMatching(/^\d+$/), body: { code: 'TOO_MANY_REQUESTS' } });
  });
});

describe('operations', () => {
  const act = async (address: string, headers: Record<string, string> = {}) =>
    await ask(socket, `/admin/v1/${address}`, { method: 'POST', headers });
  const ended = async ({ location }: Answer) =>
    await until('the operation has ended', async () => {
      const { body } = await ask(socket, location);
      return body['status'] !== 'running' && body;
    });

  it('rebuild a read model and go back, with the generation that was named', async () => {
    const first = await act('projections/rounds/rebuild', { 'if-match': '"1"' });
    expect(first).toMatchObject({
      status: 202,
      body: { act: 'rebuild', target: 'rounds', ended_at: null, operator: { via: 'socket' } },
    });
    expect(await ended(first)).toMatchObject({ status: 'succeeded', result: { generation: 2 }, error: null });
    const late = await act('projections/rounds/rebuild', { 'if-match': '"1"' });
    expect(late).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', error: expect.stringContaining('2 is live') },
    });
    expect(await ended(await act('projections/rounds/back'))).toMatchObject({ result: { generation: 1 } });
    const none = await ended(await act('projections/transfers/back'));
    expect(none).toMatchObject({ status: 'failed', error: { code: 'NOT_FOUND' } });
  });

  it('pause a read model, which says so, and resume it', async () => {
    const rounds = async () => (await stated('projections')).find(({ name }) => name === 'rounds');
    expect(await ended(await act('projections/rounds/pause'))).toMatchObject({ status: 'succeeded' });
    expect(await rounds()).toMatchObject({ status: 'paused', paused_at: expect.any(String), stopped_reason: null });
    expect(await ended(await act('projections/rounds/resume'))).toMatchObject({ result: { pausedAt: null } });
    await until('it is live again', async () => (await rounds())?.['status'] === 'live');
  });

  it('sign a checkpoint of what a log has now', async () => {
    const { lastSequence } = await context.broker.log.head('OPS');
    const signed = await ended(await act('logs/OPS/checkpoint'));
    expect(signed).toMatchObject({ status: 'succeeded', result: { origin: expect.stringContaining('/OPS/') } });
    expect((signed['result'] as Json)['size']).toBeGreaterThanOrEqual(lastSequence + 1);
    expect((await act('logs/POOL/checkpoint')).status).toBe(404);
  });

  it('start once for each key, compare and repair streams, and are listed', async () => {
    const key = { 'idempotency-key': 'first' };
    const [one, other] = [await act('streams/ACTIONS/scrub', key), await act('streams/ACTIONS/scrub', key)];
    expect(other.location).toBe(one.location);
    expect(await act('streams/ACTIONS/repair', key)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(await ended(one)).toMatchObject({ status: 'succeeded', result: { damaged: false, findings: [] } });
    expect(await ended(await act('streams/ACTIONS/repair'))).toMatchObject({ result: { damaged: false, done: [] } });
    const listed = await stated('operations');
    expect(listed.slice(0, 2).map(({ act: what, target }) => [what, target])).toEqual([
      ['repair', 'ACTIONS'],
      ['scrub', 'ACTIONS'],
    ]);
    const over = await ask(socket, `${one.location}/cancel`, { method: 'POST' });
    expect(over).toMatchObject({ status: 200, body: { status: 'succeeded' } });
  });

  it('refuse what there is not, and other methods', async () => {
    expect((await act('projections/nothing/rebuild')).status).toBe(404);
    expect((await act('streams/POOL/scrub')).status).toBe(404);
    expect((await act('streams/ACTIONS/scrub', { 'idempotency-key': 'x'.repeat(257) })).status).toBe(400);
    expect((await ask(socket, '/admin/v1/streams/ACTIONS/scrub')).status).toBe(405);
    expect((await ask(socket, '/admin/v1/operations/nothing')).status).toBe(404);
  });
});
