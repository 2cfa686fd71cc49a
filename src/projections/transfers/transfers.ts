import type { Fact } from '../../events/catalogue.ts';
import { defineProjection, type Touch } from '../projection.ts';
import type { TransferRow } from '../tables.ts';
import { transferTable } from './transfer-table.ts';

type Advanced = Fact<'TransferStarted'>['data'];
type Resumed = Fact<'TransferResumed'>['data'];

/** Tasks with their latest state. States of a task whose request the stream has dropped are skipped. */
export const transfers = defineProjection({
  name: 'transfers',
  version: 2,
  stream: 'TRANSFERS',
  table: transferTable,
  derivedTables: [],
  on: {
    UploadRequested: ({ task, action, at, fileName, size, store }) => [
      {
        key: task,
        next: () => ({
          ...requested(task, at),
          direction: 'upload',
          action,
          file_name: fileName,
          size: Number(size),
          store,
        }),
      },
    ],
    DownloadRequested: ({ task, action, at, store }) => [
      { key: task, next: () => ({ ...requested(task, at), direction: 'download', action, store }) },
    ],
    TransferStarted: advanced,
    TransferProgressed: advanced,
    TransferResumed: resumed,
    TransferCompleted: advanced,
    TransferFailed: advanced,
    RetrievalStarted: 'ignored',
    RetrievalProgressed: 'ignored',
    RetrievalCompleted: 'ignored',
    RetrievalFailed: 'ignored',
  },
});

function requested(task: string, at: string): Omit<TransferRow, 'direction' | 'action' | 'store'> {
  const nothing = { file_name: null, size: null, ended: false };
  return { task, created_at: at, status: 'sdk:started', events: 0, moved_at: at, ...nothing };
}

function advanced({ task, event, known }: Advanced): Touch<TransferRow>[] {
  if (event === undefined) return [];
  const { number, status, at } = event;
  return [
    {
      key: task,
      next: (row) => (row ? { ...row, status, events: number, moved_at: at, ended: known.ended } : null),
    },
  ];
}

function resumed({ task, known }: Resumed): Touch<TransferRow>[] {
  if (known === undefined) return [];
  return [{ key: task, next: (row) => (row ? { ...row, store: known.store } : null) }];
}
