import { createFileRegistry, type DescService, fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

/**
 * The same service and messages under another package, for wires that know one service by two names.
 *
 * The result has a file descriptor of its own, so that reflection shows both. The service's file imports no other.
 *
 * @example
 * serviceIn(SupernodeService, { packageName: 'chain.supernode.v1', file: 'chain/supernode/v1/supernode.proto' })
 */
export function serviceIn<Service extends DescService>(
  service: Service,
  { packageName, file }: Readonly<{ packageName: string; file: string }>,
): Service {
  const { proto } = service.file;
  const text = toJsonString(FileDescriptorProtoSchema, proto).replaceAll(`".${proto.package}.`, `".${packageName}.`);
  const renamed = { ...fromJsonString(FileDescriptorProtoSchema, text), name: file, package: packageName };
  const match = createFileRegistry(renamed, () => undefined).getService(`${packageName}.${service.name}`);
  if (!match) throw new Error(`${file} has no service ${service.name}`);
  // The messages are those of the service in all but their names, which its type does not hold against them.
  return match as Service;
}
