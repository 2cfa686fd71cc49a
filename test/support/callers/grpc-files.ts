import { once } from 'node:events';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials } from '@grpc/grpc-js';
import {
  DownloadRequestSchema,
  type DownloadResponse,
  DownloadResponseSchema,
  RegisterRequestSchema,
  type RegisterResponse,
  RegisterResponseSchema,
} from '../../../src/edges/gen/cascade/service_pb.ts';

const path = '/cascade.CascadeService';
const asIs = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const options = { 'grpc.max_receive_message_length': -1, 'grpc-node.flow_control_window': 8 * 2 ** 20 };

/** A chunk of an upload as it goes over the wire. */
export function chunkMessage(data: Uint8Array): Uint8Array {
  return toBinary(
    RegisterRequestSchema,
    create(RegisterRequestSchema, { requestType: { case: 'chunk', value: { data } } }),
  );
}

function metadataMessage(actionId: string): Uint8Array {
  const metadata = { case: 'metadata', value: { actionId } } as const;
  return toBinary(RegisterRequestSchema, create(RegisterRequestSchema, { requestType: metadata }));
}

/** Uploads messages by grpc-js, as fast as they are taken, then the metadata; gives what is answered. */
export async function uploadByGrpc(
  address: string,
  actionId: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<RegisterResponse[]> {
  const client = new Client(address, credentials.createInsecure(), options);
  try {
    const decode = (bytes: Buffer): RegisterResponse => fromBinary(RegisterResponseSchema, bytes);
    const call = client.makeBidiStreamRequest(`${path}/Register`, asIs, decode);
    const answers = all(call, (answer: RegisterResponse) => answer);
    answers.catch(() => undefined);
    for await (const chunk of chunks) if (!call.write(chunk)) await Promise.race([once(call, 'drain'), answers]);
    call.write(metadataMessage(actionId));
    call.end();
    return await answers;
  } finally {
    client.close();
  }
}

/** Downloads a file by grpc-js; `take` is given its bytes, and what it tells of is given back. */
export async function downloadByGrpc(
  address: string,
  actionId: string,
  take: (bytes: Uint8Array) => void,
): Promise<number[]> {
  const client = new Client(address, credentials.createInsecure(), options);
  try {
    const request = toBinary(DownloadRequestSchema, create(DownloadRequestSchema, { actionId }));
    const decode = (bytes: Buffer): DownloadResponse => fromBinary(DownloadResponseSchema, bytes);
    const call = client.makeServerStreamRequest(`${path}/Download`, asIs, decode, request);
    const events = await all(call, ({ responseType }: DownloadResponse) => {
      if (responseType.case === 'chunk') take(responseType.value.data);
      return responseType.case === 'event' ? responseType.value.eventType : 0;
    });
    return events.filter((event) => event !== 0);
  } finally {
    client.close();
  }
}

async function all<Message, T>(call: ClientReadableStream<Message>, of: (message: Message) => T): Promise<T[]> {
  const { promise, resolve, reject } = Promise.withResolvers<T[]>();
  const seen: T[] = [];
  call.on('data', (message: Message) => seen.push(of(message)));
  call.on('end', () => resolve(seen)).on('error', reject);
  return await promise;
}
