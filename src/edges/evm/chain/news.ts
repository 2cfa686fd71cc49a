import type { TypedTransaction } from '@ethereumjs/tx';
import type { ChainBlock } from './chain-blocks.ts';

type Listener<T> = (told: T) => void;

/**
 * Tells who listens of every block that can be read from now on, and of every transaction that was taken in.
 *
 * Whoever adds blocks tells of one after it can be read, in their order: who hears of it may ask for its receipts at
 * once. A listener must neither wait nor throw.
 */
export class News {
  readonly #ofBlocks = new Set<Listener<ChainBlock>>();
  readonly #ofPending = new Set<Listener<TypedTransaction>>();

  /** Listens to blocks; what is given back ends it. */
  onBlock(listener: Listener<ChainBlock>): () => void {
    return added(this.#ofBlocks, listener);
  }

  /** Listens to transactions that wait for a block; what is given back ends it. */
  onPending(listener: Listener<TypedTransaction>): () => void {
    return added(this.#ofPending, listener);
  }

  tellBlock(block: ChainBlock): void {
    for (const listener of this.#ofBlocks) listener(block);
  }

  tellPending(transaction: TypedTransaction): void {
    for (const listener of this.#ofPending) listener(transaction);
  }
}

function added<T>(listeners: Set<Listener<T>>, listener: Listener<T>): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
