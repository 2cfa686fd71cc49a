import { defineTable } from '../columns.ts';

/** A file at a SuperNode. */
export const storedFileTable = defineTable({
  name: 'stored_files',
  columns: { file: 'text', node: 'text', action: 'text', stored: 'bool', bytes: 'int8', pieces: 'int4', at: 'text' },
  key: ['file'],
  indexes: ['node, length(action), action', 'action'],
});

/** The state of a peer for a SuperNode. */
export const peerTable = defineTable({
  name: 'peer_bans',
  columns: {
    pair: 'text',
    node: 'text',
    peer: 'text',
    banned: 'bool',
    count: 'int4',
    since: 'text',
    address: 'text',
    at: 'text',
  },
  key: ['pair'],
  indexes: ['node'],
});
