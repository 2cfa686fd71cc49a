import { open, type FileHandle } from 'node:fs/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { pino } from 'pino';
import { createDataHasher } from '../../src/edges/chain/files/data-hash.ts';
import {
  CascadeService,
  type DownloadRequest,
  DownloadRequestSchema,
  DownloadResponseSchema,
  type RegisterRequest,
  RegisterRequestSchema,
  RegisterResponseSchema,
} from '../../src/edges/gen/cascade/service_pb.ts';
import { StatusResponseSchema } from '../../src/edges/gen/supernode/supernode_pb.ts';
import { createRpcHandler } from '../../src/edges/rpc/handler.ts';
import { openRpcPort } from '../../src/edges/rpc/server.ts';

// Streams without what stands behind them in a node, in a process of its own: by our RPC port, or by grpc-js. With a
// file as third argument, grpc-js stores what comes, hashed and on the disk piece by piece, as a node does.
const [, , kind = 'ours', storeFile = ''] = process.argv;
const host = '127.0.0.1';
const messageBytes = 16 * 2 ** 20;
const chunk = Buffer.alloc(2 ** 20, 'chunk');
const responseOf = create(DownloadResponseSchema, { responseType: { case: 'chunk', value: { data: chunk } } });
const told = (bytes: number) => ({ message: String(bytes) });

async function ours(): Promise<number> {
  const logger = pino({ level: 'error' }, pino.destination(2));
  const handler = createRpcHandler(
    (router) =>
      router.service(
        CascadeService,
        {
          async *register(requests) {
            let bytes = 0;
            for await (const request of requests) bytes += bytesIn(request).length;
            yield told(bytes);
          },
          async *download({ actionId }) {
            for (let left = Number(actionId); left > 0; left -= 1) yield responseOf;
          },
        },
        { readMaxBytes: messageBytes },
      ),
    logger,
  );
  return (await openRpcPort({ place: { host, port: 0, what: 'the bench', remedy: '' }, handler, logger })).port;
}

function bytesIn({ requestType }: RegisterRequest): Uint8Array {
  return requestType.case === 'chunk' ? requestType.value.data : new Uint8Array();
}

async function grpcJs(): Promise<number> {
  const windows = { 'grpc-node.flow_control_window': 8 * 2 ** 20 };
  const server = new Server({ 'grpc.max_receive_message_length': messageBytes, ...windows });
  const nothing = (): never => {
    throw new Error('This end never reads or writes it');
  };
  const requests = { requestSerialize: nothing, responseDeserialize: nothing, requestStream: false };
  const definition = {
    register: {
      ...requests,
      path: '/cascade.CascadeService/Register',
      requestStream: true,
      responseStream: true,
      requestDeserialize: (bytes: Buffer) => fromBinary(RegisterRequestSchema, bytes),
      responseSerialize: (answer: object) => Buffer.from(toBinary(RegisterResponseSchema, answer as never)),
    },
    download: {
      ...requests,
      path: '/cascade.CascadeService/Download',
      responseStream: true,
      requestDeserialize: (bytes: Buffer) => fromBinary(DownloadRequestSchema, bytes),
      responseSerialize: (answer: object) => Buffer.from(toBinary(DownloadResponseSchema, answer as never)),
    },
    getStatus: {
      ...requests,
      path: '/supernode.SupernodeService/GetStatus',
      responseStream: false,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
    },
  };
  const status = Buffer.from(toBinary(StatusResponseSchema, create(StatusResponseSchema, { version: 'v0.0.0' })));
  server.addService(definition, {
    register: (call: ServerDuplexStream<RegisterRequest, object>) => void take(call),
    download: (call: ServerWritableStream<DownloadRequest, object>) => void give(call),
    getStatus: (_call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, status),
  });
  return await new Promise((resolve, reject) => {
    server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (failed, port) =>
      failed ? reject(failed) : resolve(port),
    );
  });
}

async function take(call: ServerDuplexStream<RegisterRequest, object>): Promise<void> {
  const file: FileHandle | undefined = storeFile === '' ? undefined : await open(storeFile, 'w');
  const hasher = await createDataHasher();
  let bytes = 0;
  try {
    for await (const request of call as AsyncIterable<RegisterRequest>) {
      const data = bytesIn(request);
      bytes += data.length;
      if (!file) continue;
      hasher.update(data);
      await file.write(data);
      await file.datasync();
    }
    call.write(create(RegisterResponseSchema, told(bytes)));
    call.end();
  } catch {
    // Whoever uploads went away: nobody is there to be told.
  } finally {
    await file?.close();
  }
}

async function give(call: ServerWritableStream<DownloadRequest, object>): Promise<void> {
  for (let left = Number(call.request.actionId); left > 0; left -= 1)
    if (!call.write(responseOf)) await new Promise((resolve) => call.once('drain', resolve));
  call.end();
}

process.on('disconnect', () => process.exit());
const port = await (kind === 'ours' ? ours() : grpcJs());
process.send?.(`${host}:${port}`);
