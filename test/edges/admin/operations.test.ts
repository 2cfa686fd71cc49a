import { once } from 'node:events';
import type { NatsConnection } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActHolder } from '../../../src/edges/admin/act-holder.ts';
import { createOperationRecords } from '../../../src/edges/admin/operation-records.ts';
import { createOperations, type OperationWork, type OperatorWork } from '../../../src/edges/admin/operations.ts';
import { AppError } from '../../../src/kit/errors.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { createLog, type Log } from '../../../src/engine/log/log.ts';
import { ensureStreams } from '../../../src/engine/log/streams.ts';
import { until } from '../../support/polling.ts';
import { freshNetwork, testNats } from '../../support/programs/servers.ts';

const operator = { via: 'socket', name: 'annals' };
const logger = pino({ level: 'silent' });
const network = freshNetwork();
/** However slow the machine is, a process of these tests is not taken for gone. */
const ttlMs = 300_000;
const opened: OperatorWork[] = [];
let nc: NatsConnection;
let log: Log;

beforeAll(async () => {
  nc = await connectNats({ ...testNats(), name: 'test' });
  await ensureStreams(nc, network);
  log = createLog(nc, network);
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await nc.close();
});

const recordsOf = () => createOperationRecords(log, () => Date.now());
/** The operations of a process of their own. */
function aProcess(clock = () => Date.now()): OperatorWork {
  const holder = createActHolder(nc, network, { ttlMs });
  const made = createOperations({ records: recordsOf(), holder, clock, logger });
  opened.push(made);
  return made;
}

const rebuild = { act: 'rebuild', target: 'actions', operator };
const untilStopped: OperationWork = async ({ signal }) => {
  if (!signal.aborted) await once(signal, 'abort');
  throw new AppError('CANCELLED', 'stopped');
};
const typesOf = async (id: string) => {
  const types: string[] = [];
  for await (const page of log.history('operation', id, 0)) types.push(...page.map(({ fact }) => fact.type));
  return types;
};
const ended = async (operations: OperatorWork, id: string) =>
  await until('the operation has ended', async () => {
    const one = await operations.find(id);
    return one.status !== 'running' && one;
  });

describe('operations', () => {
  it('are facts: the request before the work starts, and how it ended', async () => {
    const operations = aProcess();
    let before: readonly string[] = [];
    const key = 'facts';
    const { id } = await operations.start({ ...rebuild, key }, async () => {
      before = (await operations.list()).map((one) => one.status);
      return { generation: 2 };
    });
    expect(await ended(operations, id)).toMatchObject({ ...rebuild, status: 'succeeded', result: { generation: 2 } });
    expect(before).toEqual(['running']);
    const failed = await operations.start(rebuild, async () => {
      throw new AppError('NOT_FOUND', 'there is none');
    });
    expect(await ended(operations, failed.id)).toMatchObject({
      status: 'failed',
      error: { code: 'NOT_FOUND', error: 'there is none' },
    });
    expect(await typesOf(id)).toEqual(['OperationRequested', 'OperationCompleted']);
    expect(await typesOf(failed.id)).toEqual(['OperationRequested', 'OperationFailed']);
  });

  it('are known to every process, with their keys, also after a restart', async () => {
    const next = aProcess();
    const again = await next.start({ ...rebuild, key: 'facts' }, async () => {
      throw new Error('it starts nothing');
    });
    expect(again).toMatchObject({ status: 'succeeded', result: { generation: 2 } });
    expect((await next.list()).map(({ id }) => id)).toContain(again.id);
    await expect(next.start({ ...rebuild, act: 'back', key: 'facts' }, async () => ({}))).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This Idempotency-Key was used to rebuild actions.',
    });
    await expect(next.find('nothing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('start once where two processes are requested at the same moment', async () => {
    const both = [aProcess(), aProcess()];
    let starts = 0;
    const work: OperationWork = async () => ({ starts: ++starts });
    const started = await Promise.all(both.map((one) => one.start({ ...rebuild, key: 'race' }, work)));
    expect(started[0]?.id).toBe(started[1]?.id);
    await ended(both[0] as OperatorWork, started[0]?.id ?? '');
    expect(starts).toBe(1);
  });

  it('run four at once, are cancelled where they run, and are interrupted by a stop', async () => {
    const [here, elsewhere] = [aProcess(), aProcess()];
    const started = await Promise.all([1, 2, 3, 4].map(() => here.start(rebuild, untilStopped)));
    await expect(here.start(rebuild, untilStopped)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    const [first, second] = started.map(({ id }) => id) as [string, string];
    await expect(elsewhere.cancel(first)).rejects.toMatchObject({ code: 'CONFLICT' });
    await here.cancel(first);
    expect(await ended(here, first)).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
    await here.close();
    expect(await elsewhere.find(second)).toMatchObject({
      status: 'interrupted',
      error: { error: 'The process that worked on it stopped' },
    });
    expect(await typesOf(second)).toEqual(['OperationRequested', 'OperationInterrupted']);
  });

  it('are interrupted where their process is gone, and not before', async () => {
    const operations = aProcess();
    await recordsOf().request('left', rebuild, 'host-1.gone');
    expect(await ended(operations, 'left')).toMatchObject({
      status: 'interrupted',
      error: { error: 'The process that worked on it is gone' },
    });
    // What another process that is present works on is left alone by the search that finds what was left.
    const holder = createActHolder(nc, network, { ttlMs });
    await recordsOf().request('present', rebuild, await holder.announced());
    await recordsOf().request('gone', rebuild, 'host-2.gone');
    await ended(operations, 'gone');
    expect((await operations.find('present')).status).toBe('running');
    await holder.close();
    expect((await ended(operations, 'present')).status).toBe('interrupted');
  });

  it('report how far they are, and how long the rest takes', async () => {
    let now = Date.UTC(2026, 10, 25);
    const operations = aProcess(() => now);
    const { id } = await operations.start(rebuild, async (options) => {
      options.onProgress({ done: 10, total: 100 });
      now += 9000;
      options.onProgress({ done: 19, total: 100 });
      return await untilStopped(options);
    });
    const progress = await until('progress is reported', async () => (await operations.find(id)).progress);
    expect(progress).toEqual({ done: 19, total: 100, etaSeconds: 81 });
    await operations.cancel(id);
    expect((await ended(operations, id)).progress).toBeNull();
  });
});
