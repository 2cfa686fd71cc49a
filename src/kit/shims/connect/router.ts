/** @connectrpc/connect 2.2.0 has no way to learn the implementations of a router's methods. */
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import {
  type ConnectRouter,
  createConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
} from '@connectrpc/connect';
import { type UniversalHandlerOptions, validateUniversalHandlerOptions } from '@connectrpc/connect/protocol';
import { type AnswerUnary, createUnaryGrpc, isPlainGrpc, type PlainCall } from './unary-grpc.ts';

/** Answers one call of plain gRPC, its failures too; fails where no answer can be written. */
export type AnswerPlain = (call: PlainCall) => Promise<void>;

/** Connect's router, and beside it the short path of plain gRPC, for requests and methods that may take it. */
export function createRouter(base: Partial<UniversalHandlerOptions>): Readonly<{
  router: ConnectRouter;
  plainCall: (response: ServerResponse | Http2ServerResponse, path: string) => AnswerPlain | undefined;
}> {
  const unary = new Map<string, AnswerUnary>();
  const inner = createConnectRouter(base);
  const note = (specs: readonly MethodImplSpec[], options?: Partial<UniversalHandlerOptions>): void => {
    const checked = validateUniversalHandlerOptions({ ...base, ...options });
    for (const spec of specs)
      if (spec.kind === 'unary')
        unary.set(`/${spec.method.parent.typeName}/${spec.method.name}`, createUnaryGrpc(spec, checked));
  };
  const router: ConnectRouter = {
    handlers: inner.handlers,
    service: (service, implementation, options) => {
      note(Object.values(createServiceImplSpec(service, implementation).methods), options);
      inner.service(service, implementation, options);
      return router;
    },
    rpc: (method, implementation, options) => {
      note([createMethodImplSpec(method, implementation)], options);
      inner.rpc(method, implementation, options);
      return router;
    },
  };
  return {
    router,
    plainCall: (response, path) => {
      const answer = unary.get(path);
      return answer && isPlainGrpc(response) ? async (call) => await answer(response, call) : undefined;
    },
  };
}
