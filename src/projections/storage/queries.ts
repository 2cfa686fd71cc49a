import { sql } from 'kysely';
import { answered, Query } from '../query.ts';
import type { Reading } from '../reading.ts';
import type { PeerBanRow, StoredFileRow } from '../tables.ts';

type OfNode = Readonly<{ node: string }>;
/** So many files, those behind an action. */
type FilesPage = OfNode & Readonly<{ after?: string | undefined; limit: number }>;

/** Files that a SuperNode holds, or held and lost, in the order of their actions. */
export class FilesOfNode extends Query<FilesPage, readonly StoredFileRow[]> {}

/** Peers that a SuperNode has banned. */
export class BansOfNode extends Query<OfNode, readonly PeerBanRow[]> {}

/** What answers each query of storage. */
export const storageQueries = [answered(FilesOfNode, filesOfNode), answered(BansOfNode, bansOfNode)];

async function filesOfNode(
  { db, schemas }: Reading,
  { node, after = '', limit }: FilesPage,
): Promise<readonly StoredFileRow[]> {
  const files = db.withSchema(schemas.stored_files).selectFrom('stored_files').selectAll();
  return await files
    .where('removed', '=', false)
    .where('node', '=', node)
    .where(sql<boolean>`(length(action), action) > (${after.length}, ${after})`)
    .orderBy(sql`length(action)`)
    .orderBy('action')
    .limit(limit)
    .execute();
}

async function bansOfNode({ db, schemas }: Reading, { node }: OfNode): Promise<readonly PeerBanRow[]> {
  const bans = db.withSchema(schemas.peer_bans).selectFrom('peer_bans').selectAll();
  return await bans
    .where('removed', '=', false)
    .where('node', '=', node)
    .where('banned', '=', true)
    .orderBy('peer')
    .execute();
}
