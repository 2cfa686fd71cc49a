import { defineTable, nullable } from '../columns.ts';

/**
 * One task: an upload, or the download of a public file; `status` is its latest state.
 *
 * Downloads of private files are no rows: nothing but their task id guards such a file.
 */
export const transferTable = defineTable({
  name: 'transfers',
  columns: {
    task: 'text',
    /** `upload` or `download`. */
    direction: 'text',
    action: 'text',
    file_name: nullable('text'),
    size: nullable('int8'),
    created_at: 'text',
    status: 'text',
    /** States so far. */
    events: 'int4',
    moved_at: 'text',
    ended: 'bool',
    store: 'text',
  },
  key: ['task'],
  indexes: ['direction, created_at desc, task', 'action, direction, created_at desc, task'],
});
