import type { Fact } from '../../events/catalogue.ts';
import type { RowOf } from '../columns.ts';
import { defineProjection, type Touch } from '../projection.ts';
import { peerTable, storedFileTable } from './storage-tables.ts';

type FileRow = RowOf<typeof storedFileTable>;
type BanRow = RowOf<typeof peerTable>;

/** What SuperNodes of this log hold, and what they held and lost. */
export const storedFiles = defineProjection({
  name: 'stored_files',
  version: 2,
  stream: 'STORAGE',
  table: storedFileTable,
  derivedTables: [],
  on: { FileStored: held, FileRepaired: held, FileLost: held },
});

/** The peers that SuperNodes of this log have banned, and released. */
export const peerBans = defineProjection({
  name: 'peer_bans',
  version: 1,
  stream: 'PEERS',
  table: peerTable,
  derivedTables: [],
  on: { PeerBanned: stands, PeerReleased: stands },
});

function held({ file, node, action, at, known }: Fact<'FileStored'>['data']): Touch<FileRow>[] {
  const { stored, bytes, pieces } = known;
  return [{ key: file, next: () => ({ file, node, action, stored, bytes: Number(bytes), pieces, at }) }];
}

function stands({ pair, node, peer, at, known }: Fact<'PeerBanned'>['data']): Touch<BanRow>[] {
  const { banned, count, since, address } = known;
  return [{ key: pair, next: () => ({ pair, node, peer, banned, count, since, address, at }) }];
}
