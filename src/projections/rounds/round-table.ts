import { defineTable, json, nullable } from '../columns.ts';

/**
 * The state of one source of sync: its last completed round and its last failure since. The row `chain` holds the
 * chain's id.
 */
export const roundTable = defineTable({
  name: 'rounds',
  columns: {
    source: 'text',
    chain_id: nullable('text'),
    completed_at: nullable('text'),
    completed_height: nullable('int8'),
    completed_block_time: nullable('text'),
    cursor: 'int8',
    requests: nullable('int8'),
    facts: nullable('int8'),
    skipped: json<readonly Readonly<{ record: string; reason: string }>[]>(),
    failed_at: nullable('text'),
    failed_reason: nullable('text'),
    failed_message: nullable('text'),
    minimum_version: nullable('text'),
    requested_at: nullable('text'),
  },
  key: ['source'],
});
