import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { startLocalNetwork } from '../../../src/edges/local-network/local-network.ts';
import { createLocalNode, type LocalNode, type NodePorts } from '../../../src/edges/local-network/node.ts';
import answers from '../../fixtures/node-status/answers.json' with { type: 'json' };
import { freshLog, seed, silent, startLedger } from '../ledger/ledger-under-test.ts';
import { shapeOf } from '../ledger/shape.ts';

const anyPorts: NodePorts = { grpc: 0, p2p: 0, http: 0 };
const identity = {
  address: '127.0.1.1:4444',
  version: 'v2.6.2',
  peers: ['lumera1peer@127.0.1.2:4445'],
  variation: 0.95,
};
const up: LocalNode[] = [];
afterEach(async () => {
  await Promise.all(up.splice(0).map((node) => node.goDown()));
});

async function startNode(ports: NodePorts = anyPorts): Promise<LocalNode> {
  const node = createLocalNode({ host: '127.0.1.1', ports, identity });
  up.push(node);
  await node.goUp();
  return node;
}

function portsOf(node: LocalNode): NodePorts {
  const ports = node.ports();
  if (!ports) throw new Error('The node is down');
  return ports;
}

async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const url = (node: LocalNode, path: string) => `http://${node.host}:${portsOf(node).http}${path}`;
const recordedShape = (name: 'status-p2p-snake' | 'services') => shapeOf(JSON.parse(answers[name].body));
/** Parts whose keys differ from node to node. */
const withoutTallies = (value: unknown) => ({ ...Object(value), lep6_metrics: {} });

describe('a local SuperNode', () => {
  test('GET /api/v1/status with P2P metrics has the shape of a real one, services and rank unfilled', async () => {
    const node = await startNode();
    const body = await (await fetch(url(node, '/api/v1/status?include_p2p_metrics=true'))).json();
    expect(shapeOf(withoutTallies(body))).toEqual(
      shapeOf(withoutTallies(JSON.parse(answers['status-p2p-snake'].body))),
    );
    expect(body).toMatchObject({ version: 'v2.6.2', registered_services: [], rank: 0, network: { peers_count: 1 } });
  });

  test('GET /api/v1/status leaves the P2P part out when nobody asks for it', async () => {
    const node = await startNode();
    const response = await fetch(url(node, '/api/v1/status'));
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({ network: null, p2p_metrics: null });
  });

  test('GET /api/v1/services lists services in the shape of a real one', async () => {
    const node = await startNode();
    const body = await (await fetch(url(node, '/api/v1/services'))).json();
    expect(shapeOf(body)).toEqual(recordedShape('services'));
  });

  test.each([
    ['GET', '/api/v1/nope', 404, 5],
    ['GET', '/api/v1/status/', 404, 5],
    ['POST', '/api/v1/status', 501, 12],
    ['GET', '/api/v1/status?include_p2p_metrics=banana', 400, 3],
  ])('%s %s is refused', async (method, path, status, code) => {
    const node = await startNode();
    const response = await fetch(url(node, path), { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
  });

  test('accepts on its gRPC and P2P ports and says nothing', async () => {
    const node = await startNode();
    const { grpc, p2p } = portsOf(node);
    expect(await Promise.all([isOpen(node.host, grpc), isOpen(node.host, p2p)])).toEqual([true, true]);
  });

  test('really goes down, cuts who is connected, and comes back', async () => {
    const node = await startNode();
    const ports = portsOf(node);
    const held = connect(ports.grpc, node.host);
    await once(held, 'connect');
    const cut = once(held, 'close');
    const asked = fetch(url(node, '/api/v1/status')).catch(() => 'cut');
    await node.goDown();
    await cut;
    expect(await asked).toBe('cut');
    const open = await Promise.all(Object.values(ports).map((port) => isOpen(node.host, port)));
    expect(open).toEqual([false, false, false]);
    await node.goUp();
    expect(await isOpen(node.host, portsOf(node).http)).toBe(true);
  });

  test('names a port that is taken, and opens none of the others then', async () => {
    const first = await startNode();
    const { http } = portsOf(first);
    const second = createLocalNode({ host: '127.0.1.1', ports: { grpc: 0, p2p: 0, http }, identity });
    await expect(second.goUp()).rejects.toThrow(
      `Port ${http} of 127.0.1.1 cannot be opened for the status port of a local SuperNode: it is taken`,
    );
    expect(second.ports()).toBeUndefined();
  });
});

describe('startLocalNetwork', () => {
  test('starts three nodes and plays, and leaves no socket open when it stops', async () => {
    await using fresh = await freshLog();
    await using ledger = await startLedger(fresh.log);
    const { signal } = new AbortController();
    const network = await startLocalNetwork({ ledger, seed, logger: silent, signal, ports: anyPorts });
    expect(network.nodes.map(({ host }) => host)).toEqual(['127.0.1.1', '127.0.1.2', '127.0.1.3']);
    const places = network.nodes.map((node) => ({ host: node.host, port: portsOf(node).http }));
    expect(await Promise.all(places.map(({ host, port }) => isOpen(host, port)))).toEqual([true, true, true]);
    await network.stop();
    expect(await Promise.all(places.map(({ host, port }) => isOpen(host, port)))).toEqual([false, false, false]);
  });
});
