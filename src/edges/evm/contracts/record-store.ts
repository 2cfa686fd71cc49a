import { type Address, createAddressFromString } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { LedgerRecord, RecordTable } from '../../../commands/ledger/records.ts';
import type { Told } from '../executor/outcome.ts';
import type { State } from '../executor/state.ts';

/** The ids of all nodes, as JSON: rows are found by id only. */
const nodeIds = { table: 'node-ids', id: '' } as const;
type Place = Readonly<{ table: RecordTable | typeof nodeIds.table; id: string }>;

/**
 * Where a row lies: as the code of an account of its own.
 *
 * So the machine's journal undoes it with its frame, the state's root covers it, and it can be read and proven at any
 * block. Its first byte stops whoever calls it.
 */
function addressOf({ table, id }: Place): Address {
  const hash = keccak_256(new TextEncoder().encode(`annals/ledger/${table}/${id}`));
  return createAddressFromString(`0x${Buffer.from(hash.subarray(12)).toString('hex')}`);
}

/** A row's text; undefined where there is none. */
export async function readRecord(state: State, table: RecordTable, id: string): Promise<string | undefined> {
  return await read(state, { table, id });
}

/** The ids of all nodes that were ever registered. */
export async function readNodeIds(state: State): Promise<readonly string[]> {
  return JSON.parse((await read(state, nodeIds)) ?? '[]') as string[];
}

/** Writes rows that differ from what is there. */
export async function writeRecords(state: State, records: readonly LedgerRecord[]): Promise<void> {
  for (const record of records) {
    const before = await read(state, record);
    if (before === record.value) continue;
    await write(state, record, record.value);
    state.noteRecord(record);
    if (record.table !== 'node' || before !== undefined) continue;
    await write(state, nodeIds, JSON.stringify([...(await readNodeIds(state)), record.id]));
  }
}

async function read(state: State, place: Place): Promise<string | undefined> {
  const code = await state.getCode(addressOf(place));
  return code.length === 0 ? undefined : new TextDecoder().decode(code.subarray(1));
}

async function write(state: State, place: Place, value: string): Promise<void> {
  await state.putRecord(addressOf(place), new Uint8Array([0, ...new TextEncoder().encode(value)]));
}

/** What system contracts did since the last time, as it is now: rows whose writing was undone are as before. */
export async function takeTold(state: State): Promise<Told> {
  const names = state.takeRecords();
  const rows = names.map(async ({ table, id }) => ({ table, id, value: await readRecord(state, table, id) }));
  const records = (await Promise.all(rows)).flatMap(({ table, id, value }) =>
    value === undefined ? [] : [{ table, id, value }],
  );
  return { events: state.takeTold(), records };
}
