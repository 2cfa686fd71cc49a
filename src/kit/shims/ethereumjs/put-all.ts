/** @ethereumjs/mpt 10.1.3 has no write of many keys: a batch hashes the path from the root anew for each of them. */
import {
  BranchMPTNode,
  ExtensionMPTNode,
  LeafMPTNode,
  MerklePatriciaTrie,
  type MPTNode,
  type NodeReferenceOrRawMPTNode,
} from '@ethereumjs/mpt';
import { type BatchDBOp, equalsBytes, KECCAK256_RLP } from '@ethereumjs/util';

type Hash = (bytes: Uint8Array) => Uint8Array;

/** What a key of a trie is to have; null: nothing. */
export type Change = Readonly<{ key: Uint8Array; value: Uint8Array | null }>;

type Path = readonly number[];
type Pending = Readonly<{ path: Path; value: Uint8Array | null }>;
type Put = Readonly<{ path: Path; value: Uint8Array }>;
type Child = NodeReferenceOrRawMPTNode | MPTNode | null;

/** What a part of a trie becomes: nothing where it is null, and what it was where it is undefined. */
type Updated = MPTNode | null | undefined;

const isNode = (child: Child): child is MPTNode => child !== null && !Array.isArray(child) && 'serialize' in child;

/**
 * Writes many values into a trie whose keys are hashed, each key once, and encodes and hashes each node once.
 *
 * The root is the one that single writes lead to. A value that the trie has already writes nothing.
 */
export async function putAll(trie: MerklePatriciaTrie, changes: readonly Change[], hash: Hash): Promise<void> {
  const writes: BatchDBOp[] = [];
  const store = (encoded: Uint8Array): Uint8Array => {
    const key = hash(encoded);
    writes.push({ type: 'put', key, value: encoded });
    return key;
  };
  const root = trie.root();
  const before = equalsBytes(root, trie.EMPTY_TRIE_ROOT) ? null : await trie.lookupNode(root);
  const pending = changes.map(({ key, value }) => ({ path: nibblesOf(hash(key)), value }));
  const after = await new Update(trie, store).apply(before, pending, 0);
  if (after === undefined) return;
  trie.root(after === null ? trie.EMPTY_TRIE_ROOT : store(after.serialize()));
  await trie.database().batch(writes);
}

/**
 * The root of the trie of some values, whose keys are not hashed, differ, and do not begin one with another: no node is
 * stored, and each is hashed once.
 */
export function rootOf(values: readonly Readonly<{ key: Uint8Array; value: Uint8Array }>[], hash: Hash): Uint8Array {
  if (values.length === 0) return KECCAK256_RLP;
  const puts = values.map(({ key, value }) => ({ path: nibblesOf(key), value }));
  return hash(new Update(new MerklePatriciaTrie(), hash).build(puts, 0).serialize());
}

class Update {
  readonly #trie: MerklePatriciaTrie;
  readonly #store: Hash;

  constructor(trie: MerklePatriciaTrie, store: Hash) {
    this.#trie = trie;
    this.#store = store;
  }

  /** Applies changes, at least one, whose paths agree with the way to a node, which is `at` nibbles long. */
  async apply(node: MPTNode | null, changes: readonly Pending[], at: number): Promise<Updated> {
    if (node instanceof BranchMPTNode) {
      const children = Array.from({ length: 16 }, (_, nibble): Child => node.getBranch(nibble));
      return await this.#applyToBranch(children, changes, at);
    }
    if (node instanceof ExtensionMPTNode) return await this.#applyToExtension(node, changes, at);
    return this.#applyToLeaf(node, changes, at);
  }

  #applyToLeaf(leaf: LeafMPTNode | null, changes: readonly Pending[], at: number): Updated {
    const key = leaf?.key();
    const own = key && changes.find(({ path }) => key.every((nibble, place) => path[at + place] === nibble));
    const puts = changes.filter(isPut);
    const isSame = own === undefined || (own.value !== null && leaf !== null && equalsBytes(own.value, leaf.value()));
    if (isSame && puts.every((put) => put === own)) return undefined;
    const left =
      leaf && key && !own ? [{ path: [...(changes[0]?.path.slice(0, at) ?? []), ...key], value: leaf.value() }] : [];
    const all = [...left, ...puts];
    return all.length === 0 ? null : this.build(all, at);
  }

  async #applyToExtension(node: ExtensionMPTNode, all: readonly Pending[], at: number): Promise<Updated> {
    const key = node.key();
    const shared = ({ path }: Pending): number => {
      const end = key.findIndex((nibble, place) => path[at + place] !== nibble);
      return end === -1 ? key.length : end;
    };
    // What is not there needs no deletion.
    const changes = all.filter((change) => change.value !== null || shared(change) === key.length);
    if (changes.length === 0) return undefined;
    const length = Math.min(...changes.map(shared));
    if (length === key.length) {
      const child = await this.apply(await this.#trie.lookupNode(node.value()), changes, at + length);
      return child ? this.#prefixed(key, child) : child;
    }
    const children = Array.from({ length: 16 }, (): Child => null);
    const rest = key.slice(length + 1);
    children[key[length] ?? 0] = rest.length === 0 ? node.value() : new ExtensionMPTNode(rest, node.value());
    const branch = await this.#applyToBranch(children, changes, at + length);
    return branch ? this.#prefixed(key.slice(0, length), branch) : branch;
  }

  async #applyToBranch(children: Child[], changes: readonly Pending[], at: number): Promise<Updated> {
    let isChanged = false;
    for (const [nibble, same] of Map.groupBy(changes, ({ path }) => path[at] ?? 0)) {
      const child = await this.#apply(children[nibble] ?? null, same, at + 1);
      if (child === undefined) continue;
      children[nibble] = child;
      isChanged = true;
    }
    if (!isChanged) return undefined;
    const left = children.flatMap((child, nibble) => (child === null ? [] : [{ child, nibble }]));
    const [only] = left;
    if (!only) return null;
    return left.length === 1 ? this.#prefixed([only.nibble], await this.#load(only.child)) : this.#branch(children);
  }

  async #apply(child: Child, changes: readonly Pending[], at: number): Promise<Updated> {
    return await this.apply(child && (await this.#load(child)), changes, at);
  }

  async #load(child: NonNullable<Child>): Promise<MPTNode> {
    return isNode(child) ? child : await this.#trie.lookupNode(child);
  }

  /** A new part of a trie, of values whose paths agree up to `at`. */
  build(puts: readonly Put[], at: number): MPTNode {
    const [first, ...others] = puts;
    if (!first) throw new Error('A part of a trie has at least one value');
    if (others.length === 0) return new LeafMPTNode(first.path.slice(at), first.value);
    let end = at;
    while (others.every(({ path }) => path[end] === first.path[end])) end += 1;
    const children = Array.from({ length: 16 }, (): Child => null);
    for (const [nibble, same] of Map.groupBy(puts, ({ path }) => path[end] ?? 0))
      children[nibble] = this.build(same, end + 1);
    return this.#prefixed(first.path.slice(at, end), this.#branch(children));
  }

  #branch(children: readonly Child[]): BranchMPTNode {
    const branch = new BranchMPTNode();
    for (const [nibble, child] of children.entries())
      branch.setBranch(nibble, isNode(child) ? this.#referenceTo(child) : child);
    return branch;
  }

  #prefixed(nibbles: Path, node: MPTNode): MPTNode {
    if (nibbles.length === 0) return node;
    if (node instanceof LeafMPTNode) return new LeafMPTNode([...nibbles, ...node.key()], node.value());
    if (node instanceof ExtensionMPTNode) return new ExtensionMPTNode([...nibbles, ...node.key()], node.value());
    // The library types a short node within another one as bytes.
    return new ExtensionMPTNode([...nibbles], this.#referenceTo(node) as Uint8Array);
  }

  /** How a node is named in the one above it: by its hash, or itself where it is shorter. */
  #referenceTo(node: MPTNode): NodeReferenceOrRawMPTNode {
    const encoded = node.serialize();
    return encoded.length < 32 ? (node.raw() as NodeReferenceOrRawMPTNode) : this.#store(encoded);
  }
}

const isPut = (change: Pending): change is Put => change.value !== null;

function nibblesOf(bytes: Uint8Array): Path {
  const nibbles: number[] = [];
  for (const byte of bytes) nibbles.push(byte >> 4, byte & 15);
  return nibbles;
}
