import { blake3 } from '@noble/hashes/blake3.js';

/**
 * Nodes in the order in which they are to hold something: by the hash of its name with each account.
 *
 * A node that comes or goes changes the order of no others, so that only what is its own moves.
 */
export function ranked<Node extends Readonly<{ account: string }>>(name: string, nodes: readonly Node[]): Node[] {
  return nodes
    .map((node) => ({ node, key: Buffer.from(blake3(Buffer.from(`${name}/${node.account}`))).toString('hex') }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ node }) => node);
}
