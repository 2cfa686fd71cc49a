import { blake3 } from '@noble/hashes/blake3.js';
import { afterEach, describe, expect, it } from 'vitest';
import type { CascadeChain } from '../../../src/edges/chain/files/chain.ts';
import { createAcceptance } from '../../../src/edges/node/peers/acceptance.ts';
import { answerFrom } from '../../../src/edges/node/peers/answers.ts';
import { createBans } from '../../../src/edges/node/peers/bans.ts';
import { createCopies } from '../../../src/edges/node/peers/copies.ts';
import type { Peer } from '../../../src/edges/node/peers/directory.ts';
import type { PeerRequest, PeerHost } from '../../../src/edges/node/peers/host.ts';
import { createNeighbours } from '../../../src/edges/node/peers/neighbours.ts';
import { createPlacement } from '../../../src/edges/node/peers/placement.ts';
import { createDiagnostics } from '../../../src/edges/node/status/diagnostics.ts';
import { encodeManifest, type Manifest } from '../../../src/edges/node/storage/manifest.ts';
import { hashPiece, type PieceHash } from '../../../src/edges/node/storage/piece-hash.ts';
import { openStorage } from '../../../src/edges/node/storage/storage.ts';
import { until } from '../../support/polling.ts';
import { freshFolder } from '../../support/programs/fresh-folder.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const back of undo.splice(0)) back();
});

const account = 'node 0';
const bytes = Buffer.from('a piece');
const manifest: Manifest = { actionId: '7', dataHash: 'h'.repeat(44), size: bytes.length, pieces: [hashPiece(bytes)] };

const never = new Promise<void>(() => undefined);
const anHourMs = 3_600_000;

type Behaviour = Readonly<{
  isUp?: (account: string) => boolean;
  /** A node accepts nothing before this resolves. */
  gateOf?: (account: string) => Promise<void> | undefined;
  /** A node shows no sign of life before this resolves. */
  lateOf?: (account: string) => Promise<void> | undefined;
  /** Returns whether a node refuses a message that gives something. */
  isRefused?: (account: string, kind: PeerRequest['case']) => boolean;
  /** After so long a node that accepts nothing counts as one that refuses. */
  limitMs?: number;
}>;

/** One node of a network of so many, whose others answer in this process; `isUp` says which of them do. */
async function networkOf(
  count: number,
  {
    isUp = () => true,
    gateOf = () => undefined,
    lateOf = () => undefined,
    isRefused = () => false,
    limitMs = anHourMs,
  }: Behaviour = {},
) {
  const { folder, remove } = freshFolder();
  undo.push(remove);
  const storage = await openStorage({ folder, bound: -1 });
  await storage.pieces.put(bytes);
  await storage.keep(manifest);
  const peers: Peer[] = Array.from({ length: count }, (_, index) => ({
    account: `node ${index}`,
    ip: '127.0.0.1',
    port: 4445,
    isActive: true,
  }));
  const asked: { account: string; ask: PeerRequest }[] = [];
  const held = new Map<string, Set<PeerRequest['case']>>();
  const host = {
    ask: async (peer: Peer, ask: PeerRequest) => {
      asked.push({ account: peer.account, ask });
      if (!isUp(peer.account)) throw new Error('It is away');
      await (ask.case === 'missing' ? lateOf : gateOf)(peer.account);
      if (ask.case !== 'missing' && isRefused(peer.account, ask.case)) return { done: false };
      if (ask.case === 'putPiece' || ask.case === 'putManifest')
        held.set(peer.account, (held.get(peer.account) ?? new Set()).add(ask.case));
      const hasPiece = held.get(peer.account)?.has('putPiece') ?? false;
      if (ask.case === 'missing') return { done: true, names: hasPiece ? [] : (ask.value.names ?? []) };
      if (ask.case === 'getPiece') return hasPiece ? { done: true, data: bytes } : { done: false };
      return { done: true };
    },
  } as unknown as PeerHost;
  const group = Array.from({ length: Math.min(10, count) }, (_, index) => `node ${index}`);
  const chain = {
    action: async () => ({ id: '7', record: { height: 5 } }),
    finalizers: async () => group,
  } as unknown as CascadeChain;
  const bans = createBans();
  const diagnostics = createDiagnostics();
  const directory = { nodes: async () => peers, known: () => undefined, isAddress: () => false };
  const limitsMs = { putManifest: limitMs, putPiece: limitMs };
  const common = { account, storage, bans, diagnostics, copies: 3, limitsMs };
  const neighbours = createNeighbours({ ...common, host, directory, repairAfterMs: 600_000 });
  const placement = createPlacement({ ...common, chain, neighbours });
  const messages = (): number => asked.length;
  const lies: string[] = [];
  const acceptance = createAcceptance({ storage, mostOffered: 2 ** 30, onLie: (by) => lies.push(by.account) });
  const copies = createCopies({ ...common, neighbours, placement, isTrue: acceptance.isTrue });
  return { copies, acceptance, storage, peers, lies, asked, held, messages };
}

describe('a file', () => {
  it.each([3, 10, 100, 1_000, 10_000])('concerns its group alone in a network of %i nodes', async (count) => {
    const { copies, messages, held } = await networkOf(count);
    expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    expect(messages()).toBeLessThanOrEqual(60);
    expect([...held.keys()].toSorted()).toEqual(['node 1', 'node 2']);
  });

  it.each([100, 1_000, 10_000])('is placed beyond a group that is away: %i nodes', async (count) => {
    const { copies, messages, held } = await networkOf(count, { isUp: (name) => Number(name.slice(5)) >= 10 });
    expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    expect(messages()).toBeLessThanOrEqual(60);
    expect(held.size).toBe(2);
  });

  it('waits once until its limit for a node that shows signs of life and accepts nothing', async () => {
    const gateOf = (name: string) => (name === 'node 1' ? never : undefined);
    const { copies, held, asked } = await networkOf(10, { gateOf, limitMs: 50 });
    expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    expect([...held.keys()].toSorted()).toEqual(['node 2', 'node 3']);
    const before = asked.length;
    expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    expect(asked.slice(before).map(({ account: to }) => to)).not.toContain('node 1');
  });

  it(
    'goes to the next node beside one that is slow, which comes last from then on',
    { tags: ['S1.peers.copies'] },
    async () => {
      const gateOf = (name: string) => (name === 'node 1' ? never : undefined);
      const { copies, held, asked } = await networkOf(10, { gateOf });
      expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
      expect([...held.keys()].toSorted()).toEqual(['node 2', 'node 3']);
      const before = asked.length;
      expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
      const sent = asked.slice(before).filter(({ ask }) => ask.case !== 'missing');
      expect(new Set(sent.map(({ account: to }) => to))).toEqual(new Set(['node 2', 'node 3']));
    },
  );

  it(
    'is sent to two nodes beside slow ones at most, and the first that have it suffice',
    { tags: ['S1.peers.copies'] },
    async () => {
      const gates = new Map(
        ['node 1', 'node 2', 'node 3', 'node 4'].map((name) => [name, Promise.withResolvers<void>()]),
      );
      const { copies, asked } = await networkOf(10, { gateOf: (name) => gates.get(name)?.promise });
      const isSent = (): boolean => asked.some(({ account: to, ask }) => to === 'node 4' && ask.case === 'putManifest');
      const spread = copies.spread(manifest);
      await until('the fourth has it beside the first ones', isSent);
      gates.get('node 1')?.resolve();
      gates.get('node 3')?.resolve();
      expect(await spread).toMatchObject({ copies: 3 });
      const sentTo = asked.flatMap(({ account: to, ask }) => (ask.case === 'putPiece' ? [to] : []));
      expect(sentTo.toSorted()).toEqual(['node 1', 'node 3']);
      expect(asked.map(({ account: to, ask }) => `${to} ${String(ask.case)}`)).not.toContain('node 5 putManifest');
    },
  );

  it(
    'goes to nodes that answer later than the others, where one of those is slow',
    { tags: ['S1.peers.copies'] },
    async () => {
      const others = Promise.withResolvers<void>();
      const { copies, held, asked } = await networkOf(10, {
        gateOf: (name) => (name === 'node 1' ? never : undefined),
        lateOf: (name) => (['node 1', 'node 2'].includes(name) ? undefined : others.promise),
      });
      const spread = copies.spread(manifest);
      await until('the second has the file', () => held.get('node 2')?.has('putPiece') ?? false);
      expect(new Set(asked.flatMap(({ account: to, ask }) => (ask.case === 'putManifest' ? [to] : [])))).toEqual(
        new Set(['node 1', 'node 2']),
      );
      others.resolve();
      expect(await spread).toMatchObject({ copies: 3 });
      expect([...held.keys()].toSorted()).toEqual(['node 2', 'node 3']);
    },
  );

  it(
    'is given once more to nodes that refused it where it would have no second copy',
    { tags: ['S1.peers.copies'] },
    async () => {
      const refusals = new Map<string, number>();
      const isRefused = (name: string): boolean => {
        refusals.set(name, (refusals.get(name) ?? 0) + 1);
        return refusals.get(name) === 1;
      };
      const { copies } = await networkOf(4, { isRefused });
      expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    },
  );

  it(
    'has a second copy though each piece is accepted only after some tries, as on disks that are behind',
    { tags: ['S1.peers.copies'] },
    async () => {
      const refusals = new Map<string, number>();
      const isRefused = (name: string, kind: PeerRequest['case']): boolean => {
        if (kind === 'putPiece') refusals.set(name, (refusals.get(name) ?? 0) + 1);
        return kind === 'putPiece' && (refusals.get(name) ?? 0) <= 3;
      };
      const { copies } = await networkOf(4, { isRefused });
      expect(await copies.spread(manifest)).toMatchObject({ copies: 3 });
    },
  );

  it('that nobody else holds is counted once it was repaired', async () => {
    const { copies } = await networkOf(10, { isUp: () => false });
    await copies.repair();
    expect(copies.singles()).toBe(1);
    const others = await networkOf(10);
    await others.copies.repair();
    expect(others.copies.singles()).toBe(0);
  });

  it('that is placed costs nothing but signs of life while nothing changes', async () => {
    const { copies, asked } = await networkOf(100);
    await copies.spread(manifest);
    await copies.repair();
    const before = asked.length;
    await copies.repair();
    await copies.repair();
    expect(asked.length).toBe(before);
  });

  it(
    'is stored for the peer that gave it, however long it takes to read and to judge it',
    { tags: ['S1.peers.copies'] },
    async () => {
      const { storage, peers } = await networkOf(3);
      await storage.forget(manifest.actionId);
      const [disk, lies] = [Promise.withResolvers<void>(), [] as string[]];
      const get = async (hash: PieceHash) => await disk.promise.then(() => storage.pieces.get(hash));
      const slow = { ...storage, pieces: { ...storage.pieces, get } };
      const onLie = ({ account: by }: Peer): void => void lies.push(by);
      const acceptance = createAcceptance({ storage: slow, mostOffered: 2 ** 30, onLie });
      const answer = answerFrom({
        storage: slow,
        directory: { nodes: async () => peers, known: () => undefined, isAddress: () => false },
        chain: {
          action: async () => ({ id: '7', record: { chainState: 'done', fileSizeKbs: 0 }, file: manifest }),
        } as unknown as CascadeChain,
        bans: createBans(),
        acceptance,
        placement: { groupOf: async () => [], mayHold: async () => true },
        onLie,
      });
      // Its piece hashes to its name and is none of the file.
      expect(await answer({ case: 'putManifest', value: encodeManifest(manifest) }, 'node 1')).toEqual({ done: true });
      expect(await answer({ case: 'putPiece', value: bytes }, 'node 1')).toEqual({ done: true });
      expect([lies, storage.index.lacking('7')]).toEqual([[], []]);
      disk.resolve();
      await until('the lie is found', () => lies.includes('node 1'));
    },
  );

  it('that a peer gave is judged before it is passed on', async () => {
    const { copies, acceptance, storage, peers, lies, held } = await networkOf(3);
    await storage.forget(manifest.actionId);
    const other = Buffer.from('none of its bytes');
    const lie = { ...manifest, actionId: '8', size: other.length, pieces: [hashPiece(other)] };
    const [, liar] = peers;
    expect(liar && (await acceptance.manifest(lie, liar))).toBe(true);
    await storage.pieces.put(other);
    await copies.repair();
    expect([...held.keys()]).toEqual([]);
    expect([lies, storage.index.file('8')]).toEqual([['node 1'], undefined]);
  });

  it('that was stored once and went away is no reason to blame who brings it again', async () => {
    const { acceptance, storage, peers, lies } = await networkOf(3);
    const [, honest, liar] = peers as [Peer, Peer, Peer];
    const [file, other] = [Buffer.from('its bytes'), Buffer.from('none of its bytes')];
    const dataHash = Buffer.from(blake3(file)).toString('base64');
    const truth = { actionId: '9', dataHash, size: file.length, pieces: [hashPiece(file)] };
    expect(await acceptance.manifest(truth, honest)).toBe(true);
    await storage.pieces.put(file);
    expect(await acceptance.isTrue('9')).toBe(true);
    await storage.forget('9');
    expect(await acceptance.manifest({ ...truth, pieces: [hashPiece(other)] }, liar)).toBe(true);
    expect([await acceptance.manifest(truth, honest), lies]).toEqual([true, expect.not.arrayContaining(['node 1'])]);
  });
});
