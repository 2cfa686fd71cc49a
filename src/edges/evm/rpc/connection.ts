import { randomBytes } from 'node:crypto';
import { rpcCodes, RpcError } from '../../json-rpc/rpc-error.ts';

/** Subscriptions of one connection at most. */
const mostSubscriptions = 100;

const opening = '{"jsonrpc":"2.0","method":"eth_subscription","params":';
const texts = new WeakMap<object, string>();

/** JSON of a notice, made once for all connections that get the same one. */
function textOf(notice: unknown): string {
  if (notice === null || typeof notice !== 'object') return JSON.stringify(notice);
  const text = texts.get(notice) ?? JSON.stringify(notice);
  texts.set(notice, text);
  return text;
}

/** Sends notifications, after `hold` once the response under way is sent. Neither waits nor throws. */
export type Notices = Readonly<{ notify: (text: string) => void; hold: () => void }>;

/** A connection that responds and also sends notifications; ends its subscriptions when it closes. */
export class Connection {
  readonly #notices: Notices;
  readonly #subscriptions = new Map<string, () => void>();
  #isClosed = false;

  constructor(notices: Notices) {
    this.#notices = notices;
  }

  /**
   * Starts a subscription and returns its id; its notifications follow the response that holds the id.
   *
   * Fails with an RpcError where the connection has too many.
   */
  subscribe(start: (report: (result: unknown) => void) => () => void): string {
    if (this.#subscriptions.size >= mostSubscriptions)
      throw new RpcError(rpcCodes.server, `more than ${mostSubscriptions} subscriptions on one connection`);
    const subscription = `0x${randomBytes(16).toString('hex').replace(/^0+/, '')}`;
    const notify = (result: unknown): void => {
      if (!this.#isClosed)
        this.#notices.notify(`${opening}{"subscription":"${subscription}","result":${textOf(result)}}}`);
    };
    this.#notices.hold();
    if (!this.#isClosed) this.#subscriptions.set(subscription, start(notify));
    return subscription;
  }

  /** Ends a subscription; whether it was there. */
  unsubscribe(id: string): boolean {
    this.#subscriptions.get(id.toLowerCase())?.();
    return this.#subscriptions.delete(id.toLowerCase());
  }

  /** Ends its subscriptions; safe to repeat. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#subscriptions.values()) end();
    this.#subscriptions.clear();
  }
}
