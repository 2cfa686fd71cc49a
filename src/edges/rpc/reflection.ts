import { createRegistry, type DescFile, type DescService, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ConnectRouter } from '@connectrpc/connect';
import {
  ServerReflection,
  type ServerReflectionRequest as Request,
  type ServerReflectionResponseSchema as ResponseSchema,
} from '../gen/grpc/reflection/v1/reflection_pb.ts';
import { createTurns, type TurnLimits } from '../../kit/turns.ts';
import { callerIn } from './callers.ts';
import { serviceIn } from './service-in.ts';

/** Reflection under the older name, which many clients still use. */
export const ServerReflectionAlpha = serviceIn(ServerReflection, {
  packageName: 'grpc.reflection.v1alpha',
  file: 'grpc/reflection/v1alpha/reflection.proto',
});

/** Answers are many times as long as what asks for them, and a client reads when it likes. */
const streams = { what: 'streams of reflection', mostPerAddress: 64, most: 512 } as const;

type Answer = NonNullable<MessageInitShape<typeof ResponseSchema>['messageResponse']>;

/**
 * Serves reflection of both versions, which differ in their names alone: of the listed services, and of itself.
 */
export function registerReflection(
  router: ConnectRouter,
  served: readonly DescService[],
  proxies: Pick<TurnLimits, 'trustedProxies'> = {},
): void {
  const takeTurn = createTurns({ ...streams, ...proxies });
  const answerOf = createAnswers([...served, ServerReflection, ServerReflectionAlpha]);
  const respond = (request: Request): MessageInitShape<typeof ResponseSchema> => ({
    validHost: request.host,
    originalRequest: request,
    messageResponse: answerOf(request),
  });
  for (const service of [ServerReflection, ServerReflectionAlpha])
    router.service(service, {
      async *serverReflectionInfo(requests, context) {
        const release = takeTurn(callerIn(context));
        try {
          for await (const request of requests) yield respond(request);
        } finally {
          release();
        }
      },
    });
}

function createAnswers(services: readonly DescService[]): (request: Request) => Answer {
  const registry = createRegistry(...services.map(({ file }) => file));
  const files = new Map(services.flatMap(({ file }) => withDependencies(file)).map((file) => [file.proto.name, file]));
  const fileOf = (symbol: string): DescFile | undefined => {
    const owner = registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf('.'))));
    return owner?.file;
  };
  return ({ messageRequest: requested }) => {
    switch (requested.case) {
      case 'listServices': {
        const service = services.map(({ typeName }) => ({ name: typeName }));
        return { case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return descriptors(files.get(requested.value), requested.value);
      case 'fileContainingSymbol':
        return descriptors(fileOf(requested.value), requested.value);
      case 'fileContainingExtension':
        return nothing(requested.value.containingType);
      case 'allExtensionNumbersOfType':
        return nothing(requested.value);
      case undefined:
        return {
          case: 'errorResponse',
          value: { errorCode: Code.InvalidArgument, errorMessage: 'The request asks for nothing that is known here.' },
        };
    }
  };
}

function descriptors(file: DescFile | undefined, query: string): Answer {
  if (!file) return nothing(query);
  const fileDescriptorProto = withDependencies(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function nothing(asked: string): Answer {
  return { case: 'errorResponse', value: { errorCode: Code.NotFound, errorMessage: `Nothing here is named ${asked}` } };
}

function withDependencies(file: DescFile): DescFile[] {
  return [file, ...file.dependencies.flatMap(withDependencies)];
}
