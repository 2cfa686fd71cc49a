import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createOpener, createSealer, type ChannelEnd } from './records.ts';
import type { SessionKeys } from './session-keys.ts';

const bufferBytes = 2 ** 20;
/** So many bytes leave at once, in records that fill a sealer's memory. */
const batchBytes = 15 * 16 * 1024;

type Done = (error?: Error | null) => void;

/** A socket whose bytes are sealed: what is written and read here is plain. A broken record ends it. */
export class SecureStream extends Duplex {
  readonly #socket: Socket;
  readonly #seal: (plain: Buffer) => Buffer;
  readonly #open: (bytes: Buffer) => Buffer[];
  #gathering = Buffer.alloc(0);

  constructor(socket: Socket, keys: SessionKeys, self: ChannelEnd) {
    super({ allowHalfOpen: false, readableHighWaterMark: bufferBytes, writableHighWaterMark: bufferBytes });
    this.#socket = socket;
    this.#seal = createSealer(keys, self);
    this.#open = createOpener(keys, self === 'client' ? 'server' : 'client');
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.pause();
  }

  #receive(bytes: Buffer): void {
    try {
      for (const payload of this.#open(bytes)) if (payload.length > 0 && !this.push(payload)) this.#socket.pause();
    } catch (caught) {
      this.destroy(caught instanceof Error ? caught : new Error(String(caught)));
    }
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(plain: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send(batchesOf(plain), done);
  }

  override _writev(parts: { chunk: Buffer }[], done: Done): void {
    const plain = parts.map(({ chunk }) => chunk);
    const [only] = plain;
    this.#send(only && plain.length === 1 ? batchesOf(only) : gathered(plain, this.#room), done);
  }

  /** One batch after the other: each is sealed into the same memory once the one before it has left. */
  #send(batches: Iterator<Buffer, void>, done: Done): void {
    const next = (error?: Error | null): void => {
      const batch = error ? undefined : batches.next().value;
      if (batch) this.#socket.write(this.#seal(batch), next);
      else done(error);
    };
    next();
  }

  readonly #room = (bytes: number): Buffer => {
    const size = Math.min(bytes, batchBytes);
    if (size > this.#gathering.length) this.#gathering = Buffer.allocUnsafeSlow(size);
    return this.#gathering;
  };

  override _final(done: Done): void {
    if (this.#socket.writableEnded || this.#socket.destroyed) done();
    else this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy();
    done(error);
  }
}

function* batchesOf(plain: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < plain.length; at += batchBytes) yield plain.subarray(at, at + batchBytes);
}

/** The same of many parts, in one memory. */
function* gathered(parts: readonly Buffer[], room: (bytes: number) => Buffer): Generator<Buffer, void> {
  let left = parts.reduce((bytes, { length }) => bytes + length, 0);
  let filled = 0;
  for (const part of parts)
    for (let at = 0; at < part.length;) {
      const batch = room(filled + left);
      const copied = part.copy(batch, filled, at);
      [at, filled, left] = [at + copied, filled + copied, left - copied];
      if (filled < batch.length && left > 0) continue;
      yield batch.subarray(0, filled);
      filled = 0;
    }
}
