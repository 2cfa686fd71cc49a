import { statfs } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Code } from '@connectrpc/connect';
import { castOf, type Person } from '../../../src/edges/local-network/cast.ts';
import { hashPiece } from '../../../src/edges/node/storage/piece-hash.ts';
import { createDiagnostics } from '../../../src/edges/node/status/diagnostics.ts';
import { type HostOptions, openPeerHost } from '../../../src/edges/node/peers/host.ts';
import { until } from '../../support/polling.ts';
import { seed, silent } from '../ledger/ledger-under-test.ts';
import { bytesOf, downloaded, pendingAction, upload } from './files-under-test.ts';
import { loseAllPieces, networkUnderTest, peerOf, shownBy, type StoringNode } from './network-under-test.ts';
import { steadyPort } from '../../support/programs/steady-port.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

/** The first snapshot of a node's metrics for which something holds. */
const shownOnce = async (node: StoringNode, holds: (shown: Shown) => boolean) =>
  await until('the metrics show it', async () => {
    const { p2p_metrics } = await shownBy(node);
    return holds(p2p_metrics) && p2p_metrics;
  });
type Shown = Awaited<ReturnType<typeof shownBy>>['p2p_metrics'];

describe('P2P metrics', () => {
  it(
    'count what is stored at others, taken from them, and skipped because they are banned',
    { tags: ['S1.p2p.store', 'S1.p2p.retrieve', 'S1.p2p.hot-path', 'S1.p2p.disk'] },
    async () => {
      const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 3, { repairEachMs: 600_000 });
      const [one, two, liar] = cast;
      if (!one || !two || !liar) throw new Error('the cast has three');
      let lies = false;
      const host = await impersonate(liar, async () => ({ done: lies, data: Buffer.from('other bytes') }));
      const [first, second] = [await start(one), await start(two)];
      const file = bytesOf('m', 2_200_000);
      const actionId = await pendingAction(ledger, file);
      await upload(first.grpc, actionId, file);
      const stored = await shownOnce(first, (shown) => shown.dht_metrics.store_success_recent.length > 0);
      expect(stored.dht_metrics).toMatchObject({
        store_success_recent: [
          { time_unix: expect.stringMatching(/^\d{10}$/), requests: 5, successful: 4, success_rate: 80 },
        ],
        hot_path_banned_skips: '0',
        hot_path_ban_increments: '0',
      });
      expect(stored.conn_pool_metrics).toMatchObject({ misses_total: '2', replacements_total: '0', capacity: '1024' });
      expect(Number(stored.conn_pool_metrics['adds_total'])).toBeGreaterThanOrEqual(2);
      expect(Number(stored.conn_pool_metrics['open_current'])).toBeGreaterThanOrEqual(2);
      expect(Number(stored.conn_pool_metrics['reuse_hits_total'])).toBeGreaterThanOrEqual(5);
      const { blocks, bsize } = await statfs(first.storageFolder);
      expect(stored.disk.all_mb).toBeCloseTo((blocks * bsize) / 2 ** 20, 3);
      expect(stored.disk.used_mb + stored.disk.free_mb).toBeLessThanOrEqual(stored.disk.all_mb);

      const unknown = hashPiece(Buffer.from('unknown'));
      expect((await host.ask(peerOf(two), { case: 'missing', value: { names: [unknown] } })).names).toEqual([unknown]);
      expect((await host.ask(peerOf(two), { case: 'getPiece', value: unknown })).done).toBe(false);
      const asked = await shownOnce(second, ({ network_handle_metrics }) => {
        return network_handle_metrics['FindValue']?.['total'] !== '0';
      });
      expect(asked.network_handle_metrics).toMatchObject({
        Ping: { total: '1', success: '1', failure: '0', timeout: '0' },
        StoreData: { total: '4', success: '4', failure: '0', timeout: '0' },
        BatchFindValues: { total: '1', success: '1', failure: '0', timeout: '0' },
        FindValue: { total: '1', success: '0', failure: '1', timeout: '0' },
        Replicate: { total: '0' },
      });

      await loseAllPieces(first.storageFolder);
      expect((await downloaded(first.grpc, actionId)).bytes.equals(file)).toBe(true);
      await second.stop();
      await loseAllPieces(first.storageFolder);
      lies = true;
      for (const _ of [1, 2, 3])
        await expect(downloaded(first.grpc, actionId)).rejects.toMatchObject({ code: Code.Unavailable });
      const end = await shownOnce(first, (shown) => shown.dht_metrics.batch_retrieve_recent.length === 4);
      const none = { keys: 3, required: 3, found_local: 0, found_network: 0 };
      expect(end.dht_metrics.batch_retrieve_recent).toMatchObject([none, none, none, { ...none, found_network: 3 }]);
      expect(end.dht_metrics.hot_path_ban_increments).toBe('2');
      expect(Number(end.dht_metrics.hot_path_banned_skips)).toBeGreaterThan(0);
      expect(end.ban_list).toMatchObject([{ id: liar.account.account, count: 2 }]);
    },
  );
});

describe('a peers’ port', () => {
  const [asker, other, another] = castOf(seed).creators as unknown as readonly [Person, Person, Person];
  const opened = async (options: Partial<HostOptions> & { of?: Person; port?: number } = {}) => {
    const { of = asker, port = 0, ...given } = options;
    const diagnostics = createDiagnostics();
    const place = { host: '127.0.0.1', port, what: 'a test', remedy: '' };
    const answering = async () => ({ done: true });
    const host = await openPeerHost({ place, key: of.key, logger: silent, answering, diagnostics, ...given });
    undo.defer(host.close);
    const peer = { account: of.account, ip: '127.0.0.1', port: host.port, isActive: true };
    return { ...host, diagnostics, peer };
  };
  const piece = { case: 'putPiece', value: Buffer.from('bytes') } as const;

  it('counts calls that fail and calls that take too long', { tags: ['S1.p2p.handlers'] }, async () => {
    const own = await opened();
    const failing = await opened({ of: other, answering: async () => Promise.reject(new Error('a fault')) });
    const slow = await opened({ of: another, answering: () => new Promise(() => undefined), answerMs: 50 });
    for (const { peer } of [failing, slow]) await expect(own.ask(peer, piece)).rejects.toThrow('does not answer');
    const none = { total: 0n, success: 0n, failure: 0n, timeout: 0n };
    for (const [host, counted] of [
      [failing, { ...none, total: 1n, failure: 1n }],
      [slow, { ...none, total: 1n, timeout: 1n }],
    ] as const) {
      const counts = () => host.diagnostics.handlers().StoreData;
      await until('the call is counted', () => counts().total > 0n);
      expect(counts()).toEqual(counted);
    }
  });

  it(
    'counts a connection that takes the place of a closed one, and those that are closed as too many',
    { tags: ['S1.p2p.pool'] },
    async () => {
      const own = await opened({ connections: 1 });
      const before = await opened({ of: other, port: await steadyPort() });
      await own.ask(before.peer, piece);
      await own.ask(before.peer, piece);
      expect(own.diagnostics.pool.all()).toMatchObject({ adds_total: 1n, misses_total: 1n, reuse_hits_total: 1n });
      await before.close();
      await until('the connection is closed', () => own.connections().open_current === 0n);
      const again = await opened({ of: other, port: before.peer.port });
      await own.ask(again.peer, piece);
      expect(own.diagnostics.pool.all()).toMatchObject({ adds_total: 2n, misses_total: 2n, replacements_total: 1n });
      const third = await opened({ of: another });
      await own.ask(third.peer, piece).catch(() => undefined);
      await until('one of two is closed', () => own.diagnostics.pool.all().evictions_lru_total === 1n);
      expect(own.connections().capacity).toBe(1n);
    },
  );
});
