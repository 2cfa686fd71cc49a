import type { WebSocket } from 'ws';
import type { Admitted } from './intake.ts';

/** What a reader may leave unread: a block of nothing but logs fits, once. */
const mostUnread = 32 * 1024 * 1024;
/** Characters that the socket gets before it has passed earlier ones on. */
const mostInSocket = 1024 * 1024;

/**
 * The texts that a connection is to send, in their order, and as fast as its client reads.
 *
 * They are counted before the socket copies them. A client that leaves too much of them unread, or whose address does,
 * is disconnected.
 */
export class Outbox {
  readonly #socket: WebSocket;
  readonly #share: Admitted;
  readonly #cut: () => void;
  #texts: string[] = [];
  #held: string[] | undefined;
  #unread = 0;
  #isSending = false;

  /** `share` is the connection's part of what its address may leave unread; `cut` disconnects it. */
  constructor(socket: WebSocket, { share, cut }: Readonly<{ share: Admitted; cut: () => void }>) {
    this.#socket = socket;
    this.#share = share;
    this.#cut = cut;
  }

  /** Sends a response. */
  send(text: string): void {
    if (this.#admits(text)) this.#texts.push(text);
    this.#flush();
  }

  /** Sends a notification, once none are held back any more. */
  notify(text: string): void {
    if (this.#admits(text)) (this.#held ?? this.#texts).push(text);
    this.#flush();
  }

  /** Holds notifications back until the response is sent that their clients wait for. */
  hold(): void {
    this.#held ??= [];
  }

  /** Sends what was held back. */
  release(): void {
    if (!this.#held) return;
    this.#texts = this.#texts.concat(this.#held);
    this.#held = undefined;
    this.#flush();
  }

  /** Forgets what was not sent; its connection has closed. */
  close(): void {
    this.#texts = [];
    this.#held = undefined;
    this.#share.leave();
  }

  #admits(text: string): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false;
    try {
      if (this.#unread > mostUnread) throw new Error('the client reads too slowly');
      this.#share.grow(text.length);
      this.#unread += text.length;
      return true;
    } catch {
      // Nothing is sent any more: the client is to notice that it lacks something.
      this.#cut();
      return false;
    }
  }

  /** Passes texts to the socket, and the next ones once it has sent them; other connections have their turn between. */
  #flush(): void {
    if (this.#isSending || this.#texts.length === 0) return;
    this.#isSending = true;
    let [sent, size] = [0, 0];
    for (; sent < this.#texts.length && size < mostInSocket; sent += 1) size += this.#texts[sent]?.length ?? 0;
    const done = (): void => {
      this.#unread -= size;
      this.#share.shrink(size);
      this.#isSending = false;
      setImmediate(() => this.#flush());
    };
    const last = this.#texts[sent - 1] ?? '';
    for (const text of this.#texts.slice(0, sent - 1)) this.#socket.send(text);
    this.#texts = this.#texts.slice(sent);
    this.#socket.send(last, done);
  }
}
