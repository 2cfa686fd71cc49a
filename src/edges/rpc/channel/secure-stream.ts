import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createOpener, createSealer, type ChannelEnd } from './records.ts';
import type { SessionKeys } from './session-keys.ts';

const bufferBytes = 2 ** 20;

/** A socket whose bytes are sealed: what is written and read here is plain. A broken record ends it. */
export class SecureStream extends Duplex {
  readonly #socket: Socket;
  readonly #seal: (plain: Buffer) => Buffer;
  readonly #open: (bytes: Buffer) => Buffer[];

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

  override _write(plain: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(plain, done);
  }

  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#send(Buffer.concat(parts.map(({ chunk }) => chunk)), done);
  }

  #send(plain: Buffer, done: (error?: Error | null) => void): void {
    if (plain.length === 0) done();
    else this.#socket.write(this.#seal(plain), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#socket.writableEnded || this.#socket.destroyed) done();
    else this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
