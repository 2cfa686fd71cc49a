import { create, toBinary } from '@bufbuild/protobuf';
import { expect } from 'vitest';
import { SpecSupernodeService } from '../../../src/edges/node/services.ts';
import { callGrpc } from '../../support/callers/grpc-client.ts';
import { until } from '../../support/polling.ts';

/**
 * Asks the three nodes of the local network by grpc-js; the API, whose list of available ones is given, must tell the
 * same of each, and the metrics that each runs.
 */
export async function expectToldByNodes(
  subnet: string,
  available: () => Promise<readonly Readonly<Record<string, unknown>>[]>,
  metrics: string,
): Promise<void> {
  const { input, output } = SpecSupernodeService.method.getStatus;
  const request = toBinary(input, create(input, { includeP2pMetrics: true }));
  for (const host of [1, 2, 3].map((last) => `${subnet}.${last}`)) {
    const method = '/chain.supernode.v1.SupernodeService/GetStatus';
    const told = await callGrpc(`${host}:4444`, method, { request, output });
    expect(told).toMatchObject({ ipAddress: `${host}:4444`, p2pMetrics: { disk: {} } });
    expect(metrics).toContain(`annals_node_up{node="${host}"} 1`);
    const listed = await until(`the API lists ${host}`, async () => (await available()).find(({ ip }) => ip === host));
    expect(listed).toMatchObject({
      version: told.version,
      cpu_cores: told.resources?.cpu?.cores,
      peer_count: expect.any(Number),
    });
  }
}
