import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterEach, describe, expect, test } from 'vitest';
import { assess } from '../../../src/edges/http/operations/readiness.ts';
import { loadProfile } from '../../../src/edges/chain/rest/profile.ts';
import { castOf } from '../../../src/edges/local-network/cast.ts';
import { startLocalNetwork } from '../../../src/edges/local-network/local-network.ts';
import {
  type LocalNode,
  type LocalNodes,
  startLocalNodes,
} from '../../../src/edges/local-network/nodes/local-nodes.ts';
import type { HostPlan } from '../../../src/edges/local-network/nodes/orders.ts';
import { connectNats } from '../../../src/engine/log/connection.ts';
import { streamName } from '../../../src/engine/log/streams.ts';
import { observeNodes } from '../../../src/edges/node/observed.ts';
import { until } from '../../support/polling.ts';
import { freshDatabase, freshNetwork, testNats } from '../../support/programs/servers.ts';
import { ask, freshLog, seed, silent, startLedger } from '../ledger/ledger-under-test.ts';

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const back of undo.splice(0).toReversed()) await back();
});

const anyPorts = { grpc: 0, p2p: 0, http: 0 };

type Hosting = { apart?: boolean; ports?: typeof anyPorts; stores?: HostPlan['stores'] };

async function hosted({ apart = false, ports = anyPorts, stores }: Hosting = {}): Promise<LocalNodes> {
  const folder = mkdtempSync(path.join(tmpdir(), 'annals-nodes-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const keyFile = path.join(folder, 'key');
  writeFileSync(keyFile, '01'.repeat(32));
  const local = await startLocalNodes({
    plan: {
      chainUrl: 'http://127.0.0.1:1',
      profile: loadProfile('local'),
      version: '1.0.0',
      snapshotMs: 30_000,
      secure: true,
      files: { storageBytes: -1, maxFileBytes: 2 ** 30, copies: 3, repairAfterMs: 600_000, allowPrivate: true },
      log: { level: 'error', format: 'json' },
      ...(stores && { stores }),
    },
    nodes: ['127.0.1.1', '127.0.1.2'].map((host) => ({ host, ports, folder: path.join(folder, host), keyFile })),
    apart,
    logger: silent,
    signal: new AbortController().signal,
  });
  undo.push(local.stop);
  return local;
}

const statusOf = async (node: LocalNode): Promise<Response> =>
  await fetch(`http://${node.host}:${node.ports()?.http}/api/v1/status`);

async function isOpen(host: string, port: number | undefined): Promise<boolean> {
  const socket = connect(port ?? 0, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('startLocalNodes', () => {
  test('hosts all nodes in one process, or each in one of its own', { tags: ['S1.local.nodes'] }, async () => {
    expect((await hosted()).pids()).toHaveLength(1);
    const apart = await hosted({ apart: true });
    expect(new Set(apart.pids()).size).toBe(2);
    for (const node of apart.nodes) expect((await statusOf(node)).status).toBe(200);
  });

  test('leaves a stream that the broker lacks to the process that restores it', async () => {
    const network = freshNetwork();
    const connection = await connectNats({ ...testNats(), name: 'a test' });
    undo.push(() => connection.close());
    const local = await hosted({ stores: { nats: testNats(), postgres: await freshDatabase(), network } });
    await until('a node could not tell the log what it holds', async () => {
      const states = (await local.observe()).map(({ state }) => state?.problems ?? []);
      return states.every((problems) => problems.some((problem) => problem.includes('log')));
    });
    const manager = await jetstreamManager(connection);
    await expect(manager.streams.info(streamName('STORAGE', network))).rejects.toThrow('stream not found');
  });

  test('takes one node down, cuts who is connected, and lets it come back', { tags: ['S1.local.nodes'] }, async () => {
    const { nodes } = await hosted();
    const [first, second] = nodes;
    const before = first?.ports();
    const held = connect(before?.grpc ?? 0, first?.host);
    held.on('error', () => undefined);
    await once(held, 'connect');
    const cut = once(held, 'close');
    await first?.goDown();
    await cut;
    expect(await Promise.all(Object.values(before ?? {}).map((port) => isOpen('127.0.1.1', port)))).toEqual([
      false,
      false,
      false,
    ]);
    expect(first?.ports()).toBeUndefined();
    expect(await isOpen('127.0.1.2', second?.ports()?.http)).toBe(true);
    await first?.goUp();
    expect(await isOpen('127.0.1.1', first?.ports()?.http)).toBe(true);
  });

  test(
    'starts a process again that was killed, with the nodes that were up in it',
    { tags: ['S1.local.nodes'] },
    async () => {
      const local = await hosted();
      const [first, second] = local.nodes;
      await first?.goDown();
      const [killed] = local.pids();
      process.kill(killed ?? 0, 'SIGKILL');
      await until(
        'the second node answers again',
        async () => second && local.pids()[0] !== killed && (await statusOf(second)).ok,
      );
      expect(first?.ports()).toBeUndefined();
    },
  );

  test(
    'tells over its channel how each node is, and warns while it does not answer',
    {
      tags: ['S1.local.observed'],
    },
    async () => {
      const local = await hosted();
      const { checks, gauges } = observeNodes(local.observe);
      const figuresNow = async () => (await Promise.all(gauges.map(({ metrics }) => metrics()))).join('\n');
      const found = await until('both have asked the chain in vain', async () => {
        const { reasons, warnings } = await assess(checks);
        expect(reasons).toEqual([]);
        return warnings.length === 2 && warnings;
      });
      expect(found.map(({ component }) => component)).toEqual(['SuperNode 127.0.1.1', 'SuperNode 127.0.1.2']);
      expect(found[0]?.message).toContain('cannot read its place on the chain');
      await local.nodes[0]?.goDown();
      const figures = await figuresNow();
      expect(figures).toContain('annals_node_up{node="127.0.1.1"} 0');
      expect(figures).toContain('annals_node_up{node="127.0.1.2"} 1');
      expect(figures).toContain('annals_node_peer_calls{node="127.0.1.2",handler="Ping",outcome="success"} 0');
      expect(figures).not.toContain('annals_node_peers{node="127.0.1.1"}');
      await local.stop();
      expect((await assess(checks)).warnings).toEqual([
        { component: 'SuperNodes', message: 'Their process does not answer.' },
      ]);
      expect(await figuresNow()).not.toContain('annals_node_up{');
    },
  );

  test('names a port that is taken, and leaves no process', async () => {
    const { nodes } = await hosted();
    const http = nodes[0]?.ports()?.http ?? 0;
    await expect(hosted({ ports: { ...anyPorts, http } })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`Port ${http} of 127.0.1.1 cannot be opened for the status of a SuperNode`),
    });
  });
});

describe('startLocalNetwork', () => {
  test(
    'puts its nodes on the chain before the script begins, each under its account, and once',
    { tags: ['S1.local.chain'] },
    async () => {
      await using fresh = await freshLog();
      await using ledger = await startLedger(fresh.log);
      const { signal } = new AbortController();
      const listed = async (): Promise<unknown> => {
        const { body } = await ask(ledger, '/LumeraProtocol/lumera/supernode/v1/list_super_nodes');
        const records = (
          body as { supernodes: { supernode_account: string; prev_ip_addresses: { address: string }[] }[] }
        ).supernodes;
        const own = records.filter(({ prev_ip_addresses: [first] }) =>
          /^127\.0\.1\.[1-9]:4444$/.test(first?.address ?? ''),
        );
        return new Map(own.map((record) => [record.supernode_account, record.prev_ip_addresses[0]?.address]));
      };
      const expected = castOf(seed).realNodes.map((node) => [node.account.account, node.address] as const);
      for (const nodes of [3, 3, 5]) {
        const network = await startLocalNetwork({ ledger, seed, nodes, logger: silent, signal });
        await network.stop();
        expect(await listed()).toEqual(new Map(expected.slice(0, nodes)));
      }
    },
  );
});
