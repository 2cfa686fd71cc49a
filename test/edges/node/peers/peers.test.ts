import { afterEach, describe, expect, it } from 'vitest';
import { Code } from '@connectrpc/connect';
import { castOf } from '../../../../src/edges/local-network/cast.ts';
import { createBans } from '../../../../src/edges/node/peers/bans.ts';
import { openPeerHost } from '../../../../src/edges/node/peers/host.ts';
import { ranked } from '../../../../src/edges/node/peers/rank.ts';
import { createDiagnostics } from '../../../../src/edges/node/status/diagnostics.ts';
import { until } from '../../../support/polling.ts';
import { seed, silent } from '../../ledger/ledger-under-test.ts';
import { bytesOf, downloaded, pendingAction, upload } from '../files-under-test.ts';
import { loseAllPieces, networkUnderTest, patient, piecesIn, ports, shownBy } from '../network-under-test.ts';

let undo = new AsyncDisposableStack();
afterEach(async () => {
  await undo.disposeAsync();
  undo = new AsyncDisposableStack();
});

/** A network whose first `running` nodes run. */
async function network(count: number, running = count) {
  const opened = await networkUnderTest(undo, count, patient);
  return { ...opened, nodes: await Promise.all(opened.cast.slice(0, running).map((node) => opened.start(node))) };
}

describe('five nodes', () => {
  it(
    'give a file out, equal to the last byte, after the one that took it is gone',
    { tags: ['S1.peers.copies'] },
    async () => {
      const { ledger, cast, nodes } = await network(5);
      const [first, ...others] = nodes;
      const file = bytesOf('f', 3_300_000);
      const actionId = await pendingAction(ledger, file);
      const events = await upload(first?.grpc ?? '', actionId, file);
      expect(events.map(({ message }) => message)).toContain('4 pieces are stored, 3 copies of each');
      const status = first && (await shownBy(first));
      expect(status?.network.peers_count).toBe(4);
      for (const [index, node] of nodes.entries()) {
        const reached = cast.toSpliced(index, 1).map(({ host, account }) => `${account.account}@${host}:${ports.p2p}`);
        expect(reached).toEqual(expect.arrayContaining([...(await shownBy(node)).network.peer_addresses]));
      }
      await first?.stop();
      for (const node of others) expect((await downloaded(node.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );
});

describe('a node', () => {
  it('shows its peers soon after its start, long before the first minute ends', async () => {
    const { cast, start } = await networkUnderTest(undo, 2, { repairEachMs: undefined });
    const nodes = await Promise.all(cast.map((node) => start(node)));
    for (const node of nodes)
      await until('the other shows', async () => (await shownBy(node)).network.peers_count === 1);
  });

  it(
    'alone on the chain’s list finalizes with its own copy, and with two where another one is listed',
    { tags: ['S1.peers.copies'] },
    async () => {
      const alone = await network(1);
      const file = bytesOf('c', 1_200_000);
      const events = await upload(alone.nodes[0]?.grpc ?? '', await pendingAction(alone.ledger, file), file);
      expect(events.map(({ message }) => message)).toContain('2 pieces are stored, 1 copies of each');
      const { ledger, cast, nodes, start } = await network(2, 1);
      const [first] = nodes;
      const actionId = await pendingAction(ledger, file);
      await expect(upload(first?.grpc ?? '', actionId, file)).rejects.toMatchObject({ code: Code.Unavailable });
      const [, second] = cast;
      if (!second) throw new Error('the cast has two');
      const late = await start(second);
      const again = await upload(first?.grpc ?? '', actionId, file);
      expect(again.map(({ message }) => message)).toContain('2 pieces are stored, 2 copies of each');
      expect((await downloaded(late.grpc, actionId)).bytes.equals(file)).toBe(true);
    },
  );

  it('without room gives out what lies elsewhere', { tags: ['S1.storage.room'] }, async () => {
    const { ledger, cast, nodes, start } = await network(3, 2);
    const [, , third] = cast;
    if (!third) throw new Error('the cast has three');
    const full = await start(third, undefined, { storageBytes: 0 });
    const file = bytesOf('z', 2_200_000);
    const actionId = await pendingAction(ledger, file);
    await upload(nodes[0]?.grpc ?? '', actionId, file);
    expect((await downloaded(full.grpc, actionId)).bytes.equals(file)).toBe(true);
    expect(await piecesIn(full.storageFolder)).toEqual([]);
  });

  it('bans a peer that gives other bytes than it was asked for', { tags: ['S1.p2p.bans'] }, async () => {
    // A repair would ask the peer as well, and count.
    const { ledger, cast, start, impersonate } = await networkUnderTest(undo, 2, { repairEachMs: 600_000 });
    const [own, liar] = cast;
    if (!own || !liar) throw new Error('the cast has two');
    const first = await start(own);
    await impersonate(liar, async () => ({ done: true, data: Buffer.from('other bytes') }));
    const file = bytesOf('b', 2_200_000);
    const actionId = await pendingAction(ledger, file);
    await upload(first.grpc, actionId, file);
    await loseAllPieces(first.storageFolder);
    for (const _ of [1, 2])
      await expect(downloaded(first.grpc, actionId)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(await shownBy(first)).toMatchObject({
      p2p_metrics: { ban_list: [{ id: liar.account.account, ip: liar.host, port: ports.p2p, count: 2 }] },
    });
  });

  it('does not believe a peer that speaks for another account', { tags: ['S1.peers.wrong'] }, async () => {
    const { ledger, cast, nodes } = await network(2, 1);
    const [first] = nodes;
    const [, second] = cast;
    const host = await openPeerHost({
      place: { host: second?.host ?? '', port: ports.p2p, what: 'a test', remedy: '' },
      key: castOf(seed).creators[0].key,
      logger: silent,
      answering: async () => ({ done: true }),
      diagnostics: createDiagnostics(),
    });
    undo.defer(host.close);
    const file = bytesOf('i', 10);
    const actionId = await pendingAction(ledger, file);
    await expect(upload(first?.grpc ?? '', actionId, file)).rejects.toMatchObject({ code: Code.Unavailable });
  });
});

describe('ranked', () => {
  it('moves only what belongs to a node that comes or goes', { tags: ['S1.peers.repair'] }, () => {
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((account) => ({ account }));
    const names = Array.from({ length: 200 }, (_, index) => `piece ${index}`);
    const firsts = new Set(names.map((name) => ranked(name, nodes)[0]?.account));
    expect(firsts.size).toBe(5);
    const without = nodes.filter(({ account }) => account !== 'c');
    for (const name of names)
      expect(ranked(name, without)).toEqual(ranked(name, nodes).filter(({ account }) => account !== 'c'));
  });
});

describe('bans', () => {
  it('begin with the second time and end an hour after the last', { tags: ['S1.p2p.bans'] }, () => {
    let nowMs = 0;
    const bans = createBans(() => nowMs);
    const peer = { account: 'a', ip: '127.0.0.1', port: 1, isActive: true };
    bans.count(peer);
    expect([bans.isBanned('a'), bans.all()]).toEqual([false, []]);
    bans.count(peer);
    expect([bans.isBanned('a'), bans.all().length]).toEqual([true, 1]);
    nowMs = 3_600_000;
    expect([bans.isBanned('a'), bans.all()]).toEqual([false, []]);
  });
});
