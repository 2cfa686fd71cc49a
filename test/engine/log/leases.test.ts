import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startNats } from '../../../src/engine/servers/nats/nats-server.ts';
import { createLeases, type Lease, type Leases, renewalsPerLease } from '../../../src/engine/log/leases.ts';
import { watchLeases } from '../../support/kills/lease-watch.ts';
import { freshNetwork } from '../../support/programs/servers.ts';
import { connected } from './fresh-log.ts';
import { steadyPort } from '../../support/programs/steady-port.ts';

const ttlMs = 1000;

/** Holds a lease until `end` is called; `lease` resolves once it is held. */
function hold(leases: Leases, name: string) {
  const stopping = new AbortController();
  const runs: Lease[] = [];
  const ended = leases.hold(name, stopping.signal, async (lease) => {
    runs.push(lease);
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
  });
  const end = (): Promise<void> => {
    stopping.abort();
    return ended;
  };
  return { runs, end, held: () => expect.poll(() => runs.length, { timeout: 20_000 }).toBeGreaterThan(0) };
}

test('hold lets one run at a time and hands over when it ends', async () => {
  const network = freshNetwork();
  const [one, two] = [
    createLeases(await connected(), network, { ttlMs }),
    createLeases(await connected(), network, { ttlMs }),
  ];
  expect(await one.holder('sync')).toBeUndefined();
  const first = hold(one, 'sync');
  await first.held();
  const second = hold(two, 'sync');
  const other = hold(two, 'probe');
  await other.held();
  expect(second.runs).toHaveLength(0);
  expect(await two.holder('sync')).toBe(await one.holder('sync'));
  await first.end();
  await second.held();
  expect(second.runs[0]?.revision).toBeGreaterThan(first.runs[0]?.revision ?? Infinity);
  await Promise.all([second.end(), other.end()]);
  expect(await one.holder('sync')).toBeUndefined();
});

test('hold keeps a lease far beyond its time while its holder lives, and others wait', async () => {
  const network = freshNetwork();
  const leases = createLeases(await connected(), network, { ttlMs: 400 });
  const first = hold(leases, 'sync');
  await first.held();
  const second = hold(createLeases(await connected(), network, { ttlMs: 400 }), 'sync');
  const clock = hold(createLeases(await connected(), network, { ttlMs: 400 }), 'clock');
  await clock.held();
  const started = performance.now();
  await expect.poll(() => performance.now() - started, { timeout: 10_000 }).toBeGreaterThan(1600);
  expect([first.runs.length, second.runs.length, first.runs[0]?.signal.aborted]).toEqual([1, 0, false]);
  await Promise.all([first.end(), second.end(), clock.end()]);
});

test('hold replaces a holder that is gone within two lease times, and its own run is told before', async () => {
  const network = freshNetwork();
  const [doomed, watching] = [await connected(), await connected()];
  const first = hold(createLeases(doomed, network, { ttlMs }), 'sync');
  await first.held();
  const second = hold(createLeases(await connected(), network, { ttlMs }), 'sync');
  const clock = hold(createLeases(await connected(), network, { ttlMs }), 'clock');
  await clock.held();
  const watch = await watchLeases(watching, network);
  await watch.seen('sync');
  await doomed.close();
  await second.held();
  expect(first.runs[0]?.signal.aborted).toBe(true);
  const renewals = await watch.renewalsUntilTaken('sync', 'clock');
  expect(renewals).toBeGreaterThan(0);
  expect(renewals).toBeLessThanOrEqual(2 * renewalsPerLease);
  await Promise.all([first.end(), second.end(), clock.end()]);
});

test('hold ends with the error of its run, gives the lease back, and never runs once it is told to end', async () => {
  const leases = createLeases(await connected(), freshNetwork(), { ttlMs });
  const failing = leases.hold('sync', new AbortController().signal, () => Promise.reject(new Error('broken')));
  await expect(failing).rejects.toThrow('broken');
  expect(await leases.holder('sync')).toBeUndefined();
  const late = hold(leases, 'sync');
  await late.end();
  expect(late.runs).toEqual([]);
  expect(await leases.holder('sync')).toBeUndefined();
});

test('hold takes its lease again after the broker was restarted', { timeout: 60_000 }, async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'annals-leases-'));
  const port = await steadyPort();
  const start = () => startNats({ dir, host: '127.0.0.1', port, wsPort: 0, say: () => undefined });
  let server = await start();
  onTestFinished(async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });
  const lease = hold(createLeases(await connected(server), 'restart', { ttlMs }), 'sync');
  await lease.held();
  await server.stop();
  await expect.poll(() => lease.runs[0]?.signal.aborted, { timeout: 10_000 }).toBe(true);
  server = await start();
  await expect.poll(() => lease.runs.length, { timeout: 20_000 }).toBe(2);
  expect(lease.runs[1]?.signal.aborted).toBe(false);
  await lease.end();
});
