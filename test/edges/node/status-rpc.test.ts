import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { create, toBinary, toJson } from '@bufbuild/protobuf';
import { createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Health } from '../../../src/edges/gen/grpc/health/v1/health_pb.ts';
import { SpecSupernodeService } from '../../../src/edges/node/services.ts';
import {
  StatusRequestSchema,
  type StatusResponse,
  StatusResponseSchema,
  SupernodeService,
} from '../../../src/edges/gen/supernode/supernode_pb.ts';
import { callGrpc } from '../../support/callers/grpc-client.ts';
import { type NodeUnderTest, nodeUnderTest } from './node-under-test.ts';

const run = promisify(execFile);
const buf = path.resolve('node_modules/.bin/buf');

let node: NodeUnderTest;
beforeAll(async () => {
  node = await nodeUnderTest();
});
afterAll(() => node[Symbol.asyncDispose]());

const request = toBinary(StatusRequestSchema, create(StatusRequestSchema, { includeP2pMetrics: true }));

/** Every field that spec 1 names, with values that can be. */
function expectWhole(status: Omit<StatusResponse, '$typeName'>): void {
  expect(status).toMatchObject({
    version: 'v1.2.3',
    uptimeSeconds: expect.any(BigInt),
    registeredServices: [],
    rank: 0,
    ipAddress: node.grpc,
    network: { peersCount: 0, peerAddresses: [] },
    p2pMetrics: {
      dhtMetrics: { storeSuccessRecent: [], batchRetrieveRecent: [], hotPathBannedSkips: 0n, hotPathBanIncrements: 0n },
      banList: [],
      database: { p2pDbSizeMb: 0, p2pDbRecordsCount: 0n },
      disk: { allMb: expect.any(Number), usedMb: expect.any(Number), freeMb: expect.any(Number) },
    },
  });
  const { cpu, memory, storageVolumes, hardwareSummary } = status.resources ?? {};
  expect(cpu?.usagePercent).toBeGreaterThanOrEqual(0);
  expect(cpu?.usagePercent).toBeLessThanOrEqual(100);
  expect(cpu?.cores).toBeGreaterThan(0);
  expect(memory?.usedGb).toBeCloseTo((memory?.totalGb ?? 0) - (memory?.availableGb ?? 0), 6);
  expect(storageVolumes).toHaveLength(1);
  expect(Number(storageVolumes?.[0]?.totalBytes)).toBeGreaterThan(Number(storageVolumes?.[0]?.usedBytes));
  expect(hardwareSummary).toMatch(/^\d+ cores \/ \d+GB RAM$/);
}

describe('GetStatus', () => {
  it(
    'is answered to grpc-js under both names, in the same bytes',
    { tags: ['S1.status.version', 'S1.port.clients'] },
    async () => {
      const [real, spec] = await Promise.all([
        callGrpc(node.grpc, '/supernode.SupernodeService/GetStatus', { request, output: StatusResponseSchema }),
        callGrpc(node.grpc, '/chain.supernode.v1.SupernodeService/GetStatus', {
          request,
          output: SpecSupernodeService.method.getStatus.output,
        }),
      ]);
      expectWhole(real);
      expect(
        toJson(SpecSupernodeService.method.getStatus.output, { ...spec, uptimeSeconds: real.uptimeSeconds }),
      ).toEqual(expect.objectContaining({ version: 'v1.2.3' }));
      expect(Object.keys(spec).toSorted()).toEqual(Object.keys(real).toSorted());
    },
  );

  const transports: [string, () => Transport][] = [
    ['gRPC', () => createGrpcTransport({ baseUrl: `http://${node.grpc}` })],
    ['gRPC-Web over HTTP/1.1', () => createGrpcWebTransport({ baseUrl: `http://${node.grpc}`, httpVersion: '1.1' })],
    ['Connect over HTTP/1.1', () => createConnectTransport({ baseUrl: `http://${node.grpc}`, httpVersion: '1.1' })],
    ['Connect over HTTP/2', () => createConnectTransport({ baseUrl: `http://${node.grpc}`, httpVersion: '2' })],
  ];
  it.each(transports)('is answered over %s', { tags: ['S1.port.clients'] }, async (_name, transport) => {
    expectWhole(await createClient(SupernodeService, transport()).getStatus({ includeP2pMetrics: true }));
  });

  it(
    'is answered to curl in JSON, without the heavy part unless it is asked for',
    { tags: ['S1.status.request', 'S1.port.clients'] },
    async () => {
      const url = `http://${node.grpc}/chain.supernode.v1.SupernodeService/GetStatus`;
      const args = ['-sS', '-H', 'content-type: application/json', '-d', '{}', url];
      const { stdout } = await run('curl', args);
      const status = JSON.parse(stdout) as object;
      expect(status).toMatchObject({ version: 'v1.2.3', network: {} });
      expect(status).not.toHaveProperty('p2pMetrics');
    },
  );

  it('is answered to buf curl, which knows it by reflection alone', { tags: ['S1.port.clients'] }, async () => {
    for (const protocol of ['grpc', 'grpcweb', 'connect']) {
      const method = `http://${node.grpc}/supernode.SupernodeService/GetStatus`;
      const args = [
        'curl',
        '--protocol',
        protocol,
        '--http2-prior-knowledge',
        '-d',
        '{"include_p2p_metrics":true}',
        method,
      ];
      const { stdout } = await run(buf, args, { cwd: '/' });
      expect(JSON.parse(stdout)).toMatchObject({ version: 'v1.2.3', p2pMetrics: { disk: expect.anything() } });
    }
  });
});

describe('health', { tags: ['S1.port.health'] }, () => {
  it('is SERVING for every name that reflection lists', async () => {
    const url = `http://${node.grpc}`;
    const curl = async (...args: string[]): Promise<string> =>
      (await run(buf, ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...args], { cwd: '/' })).stdout;
    const listed = (await curl('--list-services', url)).trim().split('\n');
    expect(listed).toContain('grpc.health.v1.Health');
    const { check } = createClient(Health, createGrpcTransport({ baseUrl: url }));
    for (const service of ['', ...listed]) expect(await check({ service }), service).toMatchObject({ status: 1 });
    expect(await curl('-d', '{}', `${url}/grpc.health.v1.Health/Check`)).toContain('SERVING');
  });
});

describe('ListServices', () => {
  it('lists both names of the service with their methods', { tags: ['S1.status.services'] }, async () => {
    const client = createClient(SupernodeService, createGrpcTransport({ baseUrl: `http://${node.grpc}` }));
    expect(await client.listServices({})).toMatchObject({
      count: 2,
      services: [
        { name: 'chain.supernode.v1.SupernodeService', methods: ['GetStatus', 'ListServices'] },
        { name: 'supernode.SupernodeService', methods: ['GetStatus', 'ListServices'] },
      ],
    });
  });
});
