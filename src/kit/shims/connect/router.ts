/** @connectrpc/connect 2.2.0 has no way to exchange one protocol’s handlers in its router. */
import { type ConnectRouter, createMethodImplSpec, createServiceImplSpec } from '@connectrpc/connect';
import {
  createUniversalMethodHandler,
  createUniversalServiceHandlers,
  type ProtocolHandlerFactory,
  type UniversalHandler,
  type UniversalHandlerOptions,
  validateUniversalHandlerOptions,
} from '@connectrpc/connect/protocol';
import { createHandlerFactory as createConnectFactory } from '@connectrpc/connect/protocol-connect';
import { createHandlerFactory as createGrpcWebFactory } from '@connectrpc/connect/protocol-grpc-web';
import { createGrpcFactory } from './unary-grpc.ts';

/** Connect's router, except for the path of gRPC's calls of one message. */
export function createRouter(base: Partial<UniversalHandlerOptions>): ConnectRouter {
  const handlers: UniversalHandler[] = [];
  const protocolsFor = (options?: Partial<UniversalHandlerOptions>): ProtocolHandlerFactory[] => {
    const checked = validateUniversalHandlerOptions({ ...base, ...options });
    return [createGrpcFactory(checked), createGrpcWebFactory(checked), createConnectFactory(checked)];
  };
  const router: ConnectRouter = {
    handlers,
    service: (service, implementation, options) => {
      const spec = createServiceImplSpec(service, implementation);
      handlers.push(...createUniversalServiceHandlers(spec, protocolsFor(options)));
      return router;
    },
    rpc: (method, implementation, options) => {
      const spec = createMethodImplSpec(method, implementation);
      handlers.push(createUniversalMethodHandler(spec, protocolsFor(options)));
      return router;
    },
  };
  return router;
}
