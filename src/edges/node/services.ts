import type { DescService } from '@bufbuild/protobuf';
import type { ConnectRouter } from '@connectrpc/connect';
import type { TurnLimits } from '../../kit/turns.ts';
import { CascadeService } from '../gen/cascade/service_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../gen/grpc/reflection/v1/reflection_pb.ts';
import { SupernodeService } from '../gen/supernode/supernode_pb.ts';
import type { Cascade } from './cascade/cascade.ts';
import { registerHealth } from '../rpc/health.ts';
import { registerReflection, ServerReflectionAlpha } from '../rpc/reflection.ts';
import { serviceIn } from '../rpc/service-in.ts';
import type { statusOf } from './status/status.ts';

/** The status of a SuperNode under the name of specification 1; the real network has it as `supernode`. */
export const SpecSupernodeService = serviceIn(SupernodeService, {
  packageName: 'chain.supernode.v1',
  file: 'chain/supernode/v1/supernode.proto',
});

/** Returns a node's status, with or without its heavy part. */
export type GiveStatus = (withP2pMetrics: boolean) => ReturnType<typeof statusOf>;

/** Paths of calls that send the bytes of files. */
export const bytePaths = [`/${CascadeService.typeName}/${CascadeService.method.register.name}`] as const;

/** The services of a node beside health and reflection, in the form of ListServices and /api/v1/services. */
export type ServicesServed = Readonly<{ services: { name: string; methods: string[] }[]; count: number }>;

/** The services of a node, with or without files. */
export function servicesServed(withFiles: boolean): ServicesServed {
  const services = served(withFiles).map(({ typeName, methods }) => ({
    name: typeName,
    methods: methods.map(({ name }) => name),
  }));
  return { services, count: services.length };
}

function served(withFiles: boolean): readonly DescService[] {
  return [SpecSupernodeService, SupernodeService, ...(withFiles ? [CascadeService] : [])];
}

/** Everything that a node serves over RPC: its status under both names, files, health, reflection. */
export function registerNode(
  router: ConnectRouter,
  giveStatus: GiveStatus,
  {
    cascade,
    trustedProxies = [],
  }: Readonly<{ cascade?: Cascade | undefined } & Pick<TurnLimits, 'trustedProxies'>> = {},
): void {
  const services = served(cascade !== undefined);
  const methods = {
    getStatus: async ({ includeP2pMetrics }: { includeP2pMetrics: boolean }) => await giveStatus(includeP2pMetrics),
    listServices: () => servicesServed(cascade !== undefined),
  };
  router.service(SpecSupernodeService, methods);
  router.service(SupernodeService, methods);
  cascade?.serve(router);
  const all = [...services, Health, ServerReflection, ServerReflectionAlpha];
  registerHealth(
    router,
    all.map(({ typeName }) => typeName),
    { trustedProxies },
  );
  registerReflection(router, [...services, Health], { trustedProxies });
}
