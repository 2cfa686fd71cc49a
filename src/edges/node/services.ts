import type { DescService } from '@bufbuild/protobuf';
import type { ConnectRouter } from '@connectrpc/connect';
import { SupernodeService as SpecSupernodeService } from '../gen/chain/supernode/v1/supernode_pb.ts';
import { SupernodeService } from '../gen/supernode/supernode_pb.ts';
import { registerHealth } from '../rpc/health.ts';
import { registerReflection } from '../rpc/reflection.ts';
import type { statusOf } from './status/status.ts';

/** Gives a node's status, with or without its heavy part. */
export type GiveStatus = (withP2pMetrics: boolean) => ReturnType<typeof statusOf>;

const served: readonly DescService[] = [SpecSupernodeService, SupernodeService];

/** What a node serves beside health and reflection, as ListServices and /api/v1/services say it. */
export function servicesServed() {
  const services = served.map(({ typeName, methods }) => ({
    name: typeName,
    methods: methods.map(({ name }) => name),
  }));
  return { services, count: services.length };
}

/** Everything that a node serves over RPC: its status under both names, health, reflection. */
export function registerNode(router: ConnectRouter, giveStatus: GiveStatus): void {
  const methods = {
    getStatus: async ({ includeP2pMetrics }: { includeP2pMetrics: boolean }) => await giveStatus(includeP2pMetrics),
    listServices: servicesServed,
  };
  router.service(SpecSupernodeService, methods);
  router.service(SupernodeService, methods);
  registerHealth(
    router,
    served.map(({ typeName }) => typeName),
  );
  registerReflection(router, served);
}
