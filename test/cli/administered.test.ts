import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAdmin, recorded, type AdminClient } from '../../src/cli/admin-client.ts';
import { parseConfig } from '../../src/config.ts';
import { announce, type Instance } from '../../src/engine/servers/instance.ts';
import { streams } from '../../src/events/streams.ts';
import { AppError } from '../../src/kit/errors.ts';
import { startAdmin } from '../../src/roles/admin.ts';
import { type Context, openStores } from '../../src/roles/context.ts';
import { projector } from '../../src/roles/projector.ts';
import type { Part } from '../../src/roles/role.ts';
import { actionOf, appendFacts } from '../engine/log/fresh-log.ts';
import { freshFolder } from '../support/programs/fresh-folder.ts';
import { until } from '../support/polling.ts';
import { freshNetwork, serversIn, testNats } from '../support/programs/servers.ts';
import { jsonLines, runVerb } from '../support/programs/verb.ts';

type Json = Record<string, unknown>;

const network = freshNetwork();
const made = freshFolder();
const stop = new AbortController();
const parts: Part[] = [];
let context: Context;
let instance: Instance;
let admin: AdminClient;
let withdraw: () => Promise<void>;

beforeAll(async () => {
  const { url, user, pass } = testNats();
  const nats = { url, user, pass };
  const common = {
    DATA_DIR: made.folder,
    NETWORK: network,
    PORT: '0',
    DURABILITY: 'relaxed',
    CHECKPOINT_INTERVAL: '1s',
  };
  const config = parseConfig({ ...common, PROBE_PRIVATE_ADDRESSES: 'allow' });
  const folder = path.join(made.folder, network);
  const servers = await serversIn(folder);
  const { postgres } = servers;
  const logger = pino({ level: 'silent' });
  context = await openStores(config, servers, { logger, signal: stop.signal });
  parts.push(await startAdmin({ ...context, running: parts }));
  for await (const part of projector.start({ ...context, running: parts })) parts.push(part);
  const startedAt = new Date().toISOString();
  instance = { pid: process.pid, network, startedAt, urls: parts[0]?.urls ?? {}, nats, postgres };
  withdraw = await announce(config, instance);
  const match = await findAdmin(instance, config);
  if (!match) throw new Error('the socket does not answer');
  admin = match;
  await until('rounds is live', async () => {
    const { projections } = await admin.get('/admin/v1/projections');
    return (projections as Json[]).every(({ status }) => status === 'live');
  });
  await appendFacts(context.broker.log, ['a', 'b', 'c'].map(actionOf));
});
afterAll(async () => {
  await withdraw?.();
  for (const part of parts.toReversed()) await part.stop();
  stop.abort();
  await Promise.all([context.pools.end(), context.broker.close()]);
  made.remove();
});

const operations = async () => (await admin.get('/admin/v1/operations'))['operations'] as Json[];
const lastOf = async (act: string) => (await operations()).find((one) => one['act'] === act) ?? {};
const untilEnded = async (act: string) =>
  await until(`${act} has ended`, async () => {
    const one = await lastOf(act);
    return one['status'] !== 'running' && one;
  });

describe('the verbs of an instance that runs', () => {
  it('show its status through the socket', async () => {
    const [status] = jsonLines(await runVerb(made.folder, 'status', '--json'));
    expect(status).toMatchObject({ network, pid: process.pid, lost: [] });
    expect(((status?.['streams'] ?? []) as Json[]).map((one) => one['stream'])).toEqual(streams);
  });

  it('register webhooks, try them again and list them, each act a fact', async () => {
    const address = 'http://127.0.0.1:1/events';
    const verb = async (...words: string[]) =>
      jsonLines(await runVerb(made.folder, 'hooks', ...words, '--json'))[0] ?? {};
    const added = await verb('add', address, '--streams', 'ACTIONS,NODES', '--from', '1');
    expect(added).toMatchObject({
      hook: { id: expect.stringMatching(/^hook_[\w-]{16}$/), url: address, status: 'enabled' },
      secret: expect.stringMatching(/^whsec_/),
    });
    const id = String((added['hook'] as Json)['id']);
    expect(await verb('disable', id)).toMatchObject({ status: 'disabled', disabled_reason: 'operator' });
    expect(await verb('retry', id)).toMatchObject({ status: 'enabled', disabled_reason: null });
    expect((await runVerb(made.folder, 'hooks')).stdout).toContain(`${id}  ${address}  enabled  ACTIONS 0 (3 behind)`);
    const acts = (await operations()).filter(({ target }) => target === id);
    expect(acts.map(({ act, status }) => [act, status])).toEqual([
      ['retry_hook', 'succeeded'],
      ['disable_hook', 'succeeded'],
      ['register_hook', 'succeeded'],
    ]);
    expect(acts[0]).toMatchObject({ operator: { via: 'cli', name: expect.stringMatching(/./) } });
    await admin.delete(`/admin/v1/hooks/${id}`);
  });

  it('are facts of the log: a rebuild in a process of its own, and a switch back by the instance', async () => {
    const rebuilt = await runVerb(made.folder, 'replay', 'rounds', '--json');
    expect(rebuilt).toMatchObject({ status: 0, stderr: '' });
    const operator = { via: 'cli' };
    const target = 'rounds';
    expect(await lastOf('rebuild')).toMatchObject({ target, operator, status: 'succeeded', result: { generation: 2 } });
    const back = await runVerb(made.folder, 'replay', 'rounds', '--back', '--json');
    expect([back.stderr, jsonLines(back)]).toEqual(['', [{ projection: 'rounds', generation: 1, facts: 0 }]]);
    expect(await lastOf('back')).toMatchObject({ target, operator, status: 'succeeded', result: { generation: 1 } });
    const none = await runVerb(made.folder, 'replay', 'transfers', '--back', '--json');
    expect(none).toMatchObject({ status: 1, stderr: expect.stringContaining('has no previous generation') });
    expect(await lastOf('back')).toMatchObject({ target: 'transfers', status: 'failed', error: { code: 'NOT_FOUND' } });
  });

  it('print events from a position, as many as wanted, and say what they take', async () => {
    const tail = async (...words: string[]) => await runVerb(made.folder, 'tail', ...words);
    const ran = await tail('evt.action.>', '--from', '2', '--limit', '2', '--json');
    expect(jsonLines(ran)).toMatchObject([
      { stream: 'ACTIONS', sequence: 2, type: 'annals.ActionExpired.v1', subject: 'b', data: { action: 'b' } },
      { sequence: 3, subject: 'c' },
    ]);
    const text = await tail(`live.action.${network}.a`, '--from', 'start', '--limit', '1');
    expect(text.stdout).toMatch(/^\S+Z {2}ACTIONS\/1 +ActionExpired +a .*\n$/);
    const refused = await Promise.all([tail('evt.nothing.>'), tail('--from', '0'), tail('--limit', 'x')]);
    for (const [n, reason] of ['No stream holds', '--from takes', '--limit takes'].entries())
      expect(refused[n]).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(reason) });
  });

  it('print events as they are written, until the instance ends the answer or the caller leaves', async () => {
    const leave = new AbortController();
    const read = admin.feed('/admin/v1/events?subject=evt.action.*.d', leave.signal)[Symbol.asyncIterator]();
    const first = read.next();
    const written = until('the event is read', async () => {
      await appendFacts(context.broker.log, [actionOf('d')]).catch(() => undefined);
      return await Promise.race([first, Promise.resolve(undefined)]);
    });
    expect(await written).toMatchObject({ value: { subject: 'd' } });
    leave.abort();
    // Another one may have been written, and have come, before the first was read.
    const isOver = async (): Promise<boolean> => (await read.next()).done === true || isOver();
    expect(await isOver()).toBe(true);
  });

  it('show the nodes that run here, or say that none does', async () => {
    const none = await runVerb(made.folder, 'nodes');
    expect(none).toMatchObject({ status: 1, stderr: expect.stringContaining('start one with the role node') });
  });

  it('prove an event as verify accepts it, and rekey begins another log that it is proven in as well', async () => {
    const out = path.join(made.folder, 'out-of-the-log');
    const logOf = async () =>
      ((await admin.get('/admin/v1/logs'))['logs'] as Json[]).find(({ stream }) => stream === 'ACTIONS') ?? {};
    await until('a checkpoint is signed', async () => Number((await logOf())['size']) >= 3);
    const proven = await runVerb(made.folder, 'prove', 'actions', '2', '--out', made.folder, '--json');
    expect(proven).toMatchObject({ status: 0, stderr: '' });
    const [{ event, proof, vkey } = {}] = jsonLines(proven) as Record<string, string>[];
    const check = async () =>
      await runVerb(made.folder, 'verify', event ?? '', proof ?? '', '--vkey', vkey ?? '', '--json');
    expect(jsonLines(await check())).toMatchObject([{ sequence: 2 }]);
    const bytes = readFileSync(event ?? '');
    writeFileSync(event ?? '', bytes.subarray(1));
    expect((await check()).status).toBe(1);
    const refusals = [
      [['prove', 'ACTIONS', '2', '--out', made.folder], 'is there already'],
      [['prove', 'ACTIONS', '4000'], 'The last checkpoint of ACTIONS has'],
      [['prove', 'ACTIONS', '0'], 'no sequence'],
      [['prove', 'POOL', '1'], 'no log of the name'],
      [['prove', 'ACTIONS', '1', '--out', out], 'cannot be written'],
      [['rekey'], '--yes'],
    ] as const;
    const refused = await Promise.all(refusals.map(([words]) => runVerb(made.folder, ...words)));
    for (const [n, [, reason]] of refusals.entries())
      expect(refused[n]).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(reason) });
    const [{ streams: renewed } = {}] = jsonLines(await runVerb(made.folder, 'rekey', '--yes', '--json'));
    expect(renewed).toContain('ACTIONS');
    expect(await lastOf('rekey')).toMatchObject({ status: 'succeeded', operator: { via: 'cli' } });
    await until('another key signs', async () => (await logOf())['vkey'] !== vkey);
  });

  it('are facts of each stream that they compare', async () => {
    const compared = jsonLines(await runVerb(made.folder, 'repair', '--dry-run', '--json'));
    const scrubs = (await operations()).filter((one) => one['act'] === 'scrub');
    expect(scrubs.map((one) => one['target']).toReversed()).toEqual(compared.map((one) => one['stream']));
    for (const one of scrubs) expect(one).toMatchObject({ status: 'succeeded', result: { damaged: false } });
  });
});

describe('an act that the caller works on', () => {
  const signal = stop.signal;
  const untilAborted = async (ending: AbortSignal): Promise<never> => {
    if (!ending.aborted) await once(ending, 'abort');
    throw new AppError('CANCELLED', 'ended');
  };

  it('is cancelled where it is worked on', async () => {
    const work = recorded(admin, { act: 'repair', target: 'NODES' }, { signal, work: untilAborted });
    work.catch(() => undefined);
    const { id } = await until('it runs', async () => {
      const one = await lastOf('repair');
      return one['status'] === 'running' && one;
    });
    await admin.post(`/admin/v1/operations/${String(id)}/cancel`);
    await expect(work).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await lastOf('repair')).toMatchObject({ target: 'NODES', status: 'cancelled' });
    const again = admin.post(`/admin/v1/operations/${String(id)}/end`, { result: {} });
    await expect(again).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('fails as its work does', async () => {
    const failing = async () => {
      throw new AppError('UNAVAILABLE', 'no answer');
    };
    const work = recorded(admin, { act: 'drop', target: 'rounds' }, { signal, work: failing });
    await expect(work).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await lastOf('drop')).toMatchObject({
      status: 'failed',
      error: { error: 'no answer', code: 'UNAVAILABLE' },
    });
  });

  it('is interrupted where its process goes away', async () => {
    const started = Promise.withResolvers<unknown>();
    const leave = await admin.lines('/admin/v1/operations', { act: 'rekey', target: 'logs' }, started.resolve);
    expect(await started.promise).toEqual({ operation: expect.any(String) });
    expect(await lastOf('rekey')).toMatchObject({ status: 'running' });
    leave();
    expect(await untilEnded('rekey')).toMatchObject({ status: 'interrupted' });
  });

  it('is of the acts that there are', async () => {
    const unknown = admin.lines('/admin/v1/operations', { act: 'dance', target: 'x' }, () => undefined);
    await expect(unknown).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(admin.post('/admin/v1/operations/nothing/end', {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is worked on also where it cannot be recorded', async () => {
    const work = async () => ({ done: true });
    expect(await recorded(undefined, { act: 'repair', target: 'NODES' }, { signal, work })).toEqual({ done: true });
  });
});
