import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';

/** A unary call of grpc-js with bytes as they are: `request` need be no message. */
export async function callGrpc<D extends DescMessage>(
  address: string,
  method: string,
  { request, output }: { request: Uint8Array; output: D },
  creds = credentials.createInsecure(),
): Promise<MessageShape<D>> {
  const client = new Client(address, creds);
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        method,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => fromBinary(output, bytes),
        request,
        (error: ServiceError | null, answer?: MessageShape<D>) => (answer ? resolve(answer) : reject(error)),
      );
    });
  } finally {
    client.close();
  }
}
