import type { TypedTransaction } from '@ethereumjs/tx';
import type { BlockHead, ReceiptForm } from './chain-blocks.ts';
import type { LogForm } from './log-form.ts';

/** Reads the contents of a block in the form of the RPC; called only where a subscriber needs them. */
export type BlockContents = Readonly<{
  logs: (head: BlockHead) => Promise<readonly LogForm[]>;
  receipts: (head: BlockHead) => Promise<readonly ReceiptForm[]>;
}>;

type Listener<T> = (notice: T) => void;

/**
 * Notifies listeners of every block that can be read from now on, of what it holds, and of every transaction that the
 * pool admits.
 *
 * The caller reports a block after it can be read, and one after the other: a client that is notified may request its
 * receipts at once. All listeners share one list of the logs of a block. A listener must neither wait nor throw.
 */
export class News {
  /** Resolves once every later block is reported; at once where nothing has to be read first. */
  readonly started: Promise<void>;
  readonly #heads = new Set<Listener<BlockHead>>();
  readonly #logs = new Set<Listener<readonly LogForm[]>>();
  readonly #receipts = new Set<Listener<readonly ReceiptForm[]>>();
  readonly #pending = new Set<Listener<TypedTransaction>>();

  constructor(started: Promise<void> = Promise.resolve()) {
    this.started = started;
  }

  /** Listens to blocks; the function that it returns ends it. */
  onBlock(listener: Listener<BlockHead>): () => void {
    return added(this.#heads, listener);
  }

  /** Listens to the logs of each block that has some. */
  onLogs(listener: Listener<readonly LogForm[]>): () => void {
    return added(this.#logs, listener);
  }

  /** Listens to the receipts of each block that has some. */
  onReceipts(listener: Listener<readonly ReceiptForm[]>): () => void {
    return added(this.#receipts, listener);
  }

  /** Listens to transactions that wait for a block. */
  onPending(listener: Listener<TypedTransaction>): () => void {
    return added(this.#pending, listener);
  }

  /** Notifies of a block. Fails, before any listener is notified, where its contents cannot be read. */
  async tellBlock(head: BlockHead, contents: BlockContents): Promise<void> {
    const isEmpty = head.transactions === 0;
    const logs = isEmpty || this.#logs.size === 0 ? [] : await contents.logs(head);
    const receipts = isEmpty || this.#receipts.size === 0 ? [] : await contents.receipts(head);
    notify(this.#heads, head);
    if (logs.length > 0) notify(this.#logs, logs);
    if (receipts.length > 0) notify(this.#receipts, receipts);
  }

  tellPending(transaction: TypedTransaction): void {
    notify(this.#pending, transaction);
  }
}

function notify<T>(listeners: ReadonlySet<Listener<T>>, notice: T): void {
  for (const listener of listeners) listener(notice);
}

function added<T>(listeners: Set<Listener<T>>, listener: Listener<T>): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
