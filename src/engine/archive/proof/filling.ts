import type { StreamName } from '../../../events/streams.ts';
import type { RawEvent } from '../chain.ts';
import type { ArchiveHead, ArchiveStore } from '../store.ts';
import { type Growth, growTree, type TreeEdge } from './growth.ts';
import { hashBytes, sha256 } from './merkle.ts';

const atOnce = 2000;
/** Sequences that one statement adds to a tree; a stream that forgets may have millions between two events. */
const mostEntries = 65_536;

/** A sequence and what is stored under it. */
type Body = Pick<RawEvent, 'sequence' | 'body'>;

/** Entries of the sequences after one, up to another: hashes of the bodies, and zeros where there is none. */
export function entriesOf(bodies: readonly Body[], after: number, upTo: number): Uint8Array {
  const entries = new Uint8Array((upTo - after) * hashBytes);
  for (const { sequence, body } of bodies) entries.set(sha256(body), (sequence - after - 1) * hashBytes);
  return entries;
}

/**
 * Opens the tree of a stream that is led: one that ends before the archive is filled from it first.
 *
 * Undefined where the tree is damaged: it waits for the comparison that is asked for, and the archive goes on. Fails
 * when another process leads the stream meanwhile.
 */
export async function openTree(store: ArchiveStore, head: ArchiveHead): Promise<Tree | undefined> {
  const { stream, leaves } = head;
  if (leaves === 0) await store.trees.clear(stream);
  const edge = await store.trees.edge(stream, leaves);
  if (!edge) {
    await store.suspect(stream, 'its tree lacks hashes at its end');
    return undefined;
  }
  const tree = new Tree(store, stream, { edge, leaves });
  await tree.fill(head);
  return tree;
}

/** A stream's tree in the hands of the one process that writes its archive. */
export class Tree {
  readonly #store: ArchiveStore;
  readonly #stream: StreamName;
  #edge: TreeEdge;
  #leaves: number;

  constructor(store: ArchiveStore, stream: StreamName, { edge, leaves }: { edge: TreeEdge; leaves: number }) {
    this.#store = store;
    this.#stream = stream;
    this.#edge = edge;
    this.#leaves = leaves;
  }

  /** How many leaves are stored. */
  get leaves(): number {
    return this.#leaves;
  }

  /** What events at the archive's end add; undefined where the tree has to be filled once they are stored. */
  growth({ position }: Pick<ArchiveHead, 'position'>, events: readonly Body[]): Growth | undefined {
    const last = events.at(-1)?.sequence ?? position;
    if (this.#leaves !== position || last - position > mostEntries) return undefined;
    return growTree(this.#edge, entriesOf(events, position, last));
  }

  /** Notes what was stored. */
  grew({ edge }: Growth): void {
    this.#edge = edge;
    this.#leaves = edge[0]?.count ?? 0;
  }

  /** Adds what the archive holds behind the tree's end; an archive that ends before its tree leaves it as it is. */
  async fill(head: ArchiveHead): Promise<void> {
    while (this.#leaves < head.position) {
      const after = this.#leaves;
      const most = Math.min(head.position, after + mostEntries);
      const page = await this.#store.read(this.#stream, after, atOnce);
      const links = page.links.filter(({ sequence }) => sequence <= most);
      const upTo = page.isEnd ? most : (links.at(-1)?.sequence ?? most);
      const growth = growTree(this.#edge, entriesOf(links, after, upTo));
      if (!(await this.#store.trees.grow(this.#stream, growth, { epoch: head.epoch, leaves: after })))
        throw new Error(`Another process writes the tree of ${this.#stream}`);
      this.grew(growth);
    }
  }
}
