import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** Frames of HTTP/2 of the one stream that a client opens, made by hand: no library decides when they leave. */
export const frames = {
  headers: frame(1, 4, 1, fields({ ':status': '200', 'content-type': 'application/grpc' })),
  trailers: frame(1, 5, 1, fields({ 'grpc-status': '9', 'grpc-message': 'not today' })),
  trailersOnly: frame(
    1,
    5,
    1,
    fields({ ':status': '200', 'content-type': 'application/grpc', 'grpc-status': '9', 'grpc-message': 'not today' }),
  ),
  reset: (code: number): Buffer => frame(3, 0, 1, numbers(code)),
  goAway: (code: number): Buffer => frame(7, 0, 0, numbers(1, code)),
};

/** What a server answers, in so many writes, and what it does with the connection afterwards. */
export type EarlyAnswer = Readonly<{ parts: readonly Buffer[]; close?: 'end' | 'reset'; isOneWrite: boolean }>;

/**
 * Serves one answer to whoever calls: once so many bytes of the call's body have come, at its head for -1, at its end
 * for Infinity; what comes afterwards is read and not looked at.
 */
export async function serveFrames(afterBytes: number, answer: EarlyAnswer): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => undefined);
    socket.write(frame(4, 0, 0));
    let isAnswered = false;
    let [bytes, rest] = [0, Buffer.alloc(0)];
    let preface = 24;
    const reply = (): void => {
      if (!isAnswered) void send(socket, answer);
      isAnswered = true;
    };
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      if (rest.length < preface) return;
      rest = rest.subarray(preface);
      preface = 0;
      for (;;) {
        const size = rest.length < 9 ? Infinity : rest.readUIntBE(0, 3);
        if (rest.length < 9 + size) return;
        const [type, flags = 0] = rest.subarray(3);
        rest = rest.subarray(9 + size);
        if (type === 4 && (flags & 1) === 0) socket.write(frame(4, 1, 0));
        if (type === 1 && afterBytes < 0) reply();
        if (type !== 0) continue;
        bytes += size;
        if (bytes >= afterBytes || (flags & 1) === 1) reply();
        if (size > 0) socket.write(Buffer.concat([grow(0, size), ...(isAnswered ? [] : [grow(1, size)])]));
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function send(socket: Socket, { parts, close, isOneWrite }: EarlyAnswer): Promise<void> {
  if (isOneWrite) socket.write(Buffer.concat(parts));
  else
    for (const part of parts) {
      socket.write(part);
      await turn();
    }
  if (close === 'end') socket.end();
  if (close === 'reset') socket.resetAndDestroy();
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt16BE(type * 256 + flags, 3);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const grow = (stream: number, bytes: number): Buffer => frame(8, 0, stream, numbers(bytes));

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => bytes.writeUInt32BE(value, 4 * at));
  return bytes;
}

/** Header fields as literals without an index. */
function fields(of: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  return Buffer.concat(Object.entries(of).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}
