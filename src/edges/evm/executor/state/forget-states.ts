import { RLP } from '@ethereumjs/rlp';
import pg from 'pg';
import { toReadError } from '../../../../engine/models/database-error.ts';
import { metaSchema } from '../../../../engine/models/engine/generations.ts';

/** The states that stay: of the last heights, and of each height that is a multiple of `each`. */
export const storedStates = { last: 1_000, each: 1_000 } as const;

/** How many nodes are retained for ever now, and how many were dropped. */
export type ForgottenStates = Readonly<{ kept: number; dropped: number }>;

/** What refers to a node of a trie: accounts refer to tries of storage and to code, slots to nothing. */
type Reference = Readonly<{ hash: string; of: 'accounts' | 'storage' | 'code' }>;
type Rlp = Uint8Array | readonly Rlp[];

const atOnce = 1_000;
const waitMs = 120_000;
const codePrefix = '63';

/**
 * Drops the nodes that only states up to a height have, and the headers before it, but for each thousandth.
 *
 * The states of that height and of genesis stay for ever: all that they consist of is marked in one transaction with
 * what goes. A node that a later block writes again counts as that block's. Safe to repeat, and while blocks are
 * executed.
 */
export async function forgetStates(
  postgres: pg.ClientConfig,
  network: string,
  height: number,
): Promise<ForgottenStates> {
  const schema = metaSchema(network);
  const client = new pg.Client({ ...postgres, application_name: `annals ${network} forget`, query_timeout: waitMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ header: Buffer }>(
      `select header from ${schema}.evm_headers where number in (0, $1) order by number`,
      [height],
    );
    if (rows.length < 2) return { kept: 0, dropped: 0 };
    const roots = rows.map(({ header }) => hexOf(listOf(RLP.decode(header))[3]));
    const stored = await reachable(
      client,
      schema,
      roots.map((hash) => ({ hash, of: 'accounts' })),
    );
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 2))', [schema]);
    for (let at = 0; at < stored.length; at += atOnce)
      await client.query(`update ${schema}.evm_nodes set is_kept = true where hash = any($1)`, [
        stored.slice(at, at + atOnce).map((hash) => Buffer.from(hash, 'hex')),
      ]);
    const dropped = await client.query(`delete from ${schema}.evm_nodes where not is_kept and height <= $1`, [height]);
    await client.query(`delete from ${schema}.evm_headers where number < $1 and number % $2 <> 0`, [
      height,
      storedStates.each,
    ]);
    await client.query('commit');
    return { kept: stored.length, dropped: dropped.rowCount ?? 0 };
  } catch (caught) {
    throw toReadError(caught);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The nodes of a state that are not retained yet; what a retained node refers to is retained as well. */
async function reachable(client: pg.Client, schema: string, from: readonly Reference[]): Promise<string[]> {
  const match = new Set<string>();
  let frontier = [...from];
  while (frontier.length > 0) {
    const part = frontier.splice(0, atOnce);
    const byHash = new Map(part.map((one) => [one.hash, one]));
    const { rows } = await client.query<{ hash: string; node: Buffer }>(
      `select encode(hash, 'hex') as hash, node from ${schema}.evm_nodes where hash = any($1) and not is_kept`,
      [[...byHash.keys()].map((hash) => Buffer.from(hash, 'hex'))],
    );
    for (const { hash, node } of rows) {
      const of = byHash.get(hash)?.of;
      if (match.has(hash) || of === undefined) continue;
      match.add(hash);
      if (of !== 'code')
        frontier = frontier.concat(referencesOf(RLP.decode(node), of).filter((one) => !match.has(one.hash)));
    }
  }
  return [...match];
}

/** The references of a trie's node; short nodes lie within the ones above them. */
function referencesOf(node: Rlp, of: 'accounts' | 'storage'): Reference[] {
  const parts = listOf(node);
  if (parts.length === 17) return parts.slice(0, 16).flatMap((child) => childOf(child, of));
  const [path, value] = parts;
  if (!(path instanceof Uint8Array) || value === undefined) throw new Error('A node of the state is none');
  const isLeaf = ((path[0] ?? 0) & 0x20) !== 0;
  if (!isLeaf) return childOf(value, of);
  return of === 'storage' || !(value instanceof Uint8Array) ? [] : accountReferences(RLP.decode(value));
}

function childOf(child: Rlp, of: 'accounts' | 'storage'): Reference[] {
  if (!(child instanceof Uint8Array)) return referencesOf(child, of);
  return child.length === 32 ? [{ hash: hexOf(child), of }] : [];
}

function accountReferences(account: Rlp): Reference[] {
  const [, , storage, code] = listOf(account);
  return [
    { hash: hexOf(storage), of: 'storage' },
    { hash: `${codePrefix}${hexOf(code)}`, of: 'code' },
  ];
}

function listOf(value: Rlp): readonly Rlp[] {
  if (value instanceof Uint8Array) throw new Error('A node of the state is none');
  return value;
}

function hexOf(bytes: Rlp | undefined): string {
  if (!(bytes instanceof Uint8Array)) throw new Error('A node of the state has no hash where one belongs');
  return Buffer.from(bytes).toString('hex');
}
