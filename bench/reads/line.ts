import { connect, type Socket } from 'node:net';

/** Hears whether a request was answered with status 200, or 304 where it named a tag. */
export type Answered = (isSound: boolean) => void;

/** All lines read into the same piece: what has come is dealt with before anything else is read. */
const memory = Buffer.allocUnsafe(65_536);

/**
 * A connection that asks one request at a time and only counts the bytes of an answer, which must tell its length.
 *
 * A client that gives each answer memory of its own makes V8 look through all of its heap about once a second, and the
 * second core with it: that would be seen in the times of whoever is asked.
 */
export class Line {
  readonly #url: URL;
  #socket: Socket | undefined;
  #answered: Answered | undefined;
  #head = '';
  #wanted = '';
  #isSound = false;
  #missing = 0;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** Asks for a path; only when the last one has been answered. What breaks the connection is no sound answer. */
  ask(path: string, answered: Answered, tag?: string): void {
    const condition = tag === undefined ? '' : `If-None-Match: ${tag}\r\n`;
    this.#wanted = tag === undefined ? 'HTTP/1.1 200 ' : 'HTTP/1.1 304 ';
    this.#answered = answered;
    this.#head = '';
    this.#socket ??= this.#open();
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.#url.host}\r\n${condition}\r\n`, 'latin1');
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const { hostname, port } = this.#url;
    const callback = (size: number): boolean => {
      this.#read(size);
      return true;
    };
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer: memory, callback } });
    socket.on('error', () => undefined);
    return socket.on('close', () => {
      this.#socket = undefined;
      this.#settle(false);
    });
  }

  #read(size: number): void {
    if (this.#missing > 0) this.#missing -= size;
    else {
      this.#head += memory.toString('latin1', 0, size);
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const isKnown = this.#head.startsWith('HTTP/1.1 304 ');
      const length = isKnown ? '0' : /\r\ncontent-length: (\d+)\r\n/i.exec(this.#head.slice(0, end + 2))?.[1];
      this.#isSound = length !== undefined && this.#head.startsWith(this.#wanted);
      this.#missing = Number(length ?? 0) - (this.#head.length - end - 4);
    }
    if (this.#missing <= 0) this.#settle(this.#isSound && this.#missing === 0);
  }

  #settle(isSound: boolean): void {
    const answered = this.#answered;
    this.#answered = undefined;
    this.#missing = 0;
    answered?.(isSound);
  }
}
