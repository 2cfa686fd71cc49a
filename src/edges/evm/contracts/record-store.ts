import { type Address, createAddressFromString } from '@ethereumjs/util';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { actionIn, type LedgerRecord, type RecordTable } from '../../../commands/ledger/records.ts';
import type { Reported } from '../executor/outcome.ts';
import type { State } from '../executor/state/state.ts';
import { ActionIndex, type ActionKey, type ListedIds } from './action-index.ts';
import { free, gas, type Meter } from './gas.ts';

/** The ids of all nodes, as JSON: rows can be read by id only. */
const nodeIds = { table: 'node-ids', id: '' } as const;
/** The account whose storage is the index of actions. */
const indexOfActions = { table: 'index', id: '' } as const;
type Position = Readonly<{ table: RecordTable | typeof nodeIds.table | typeof indexOfActions.table; id: string }>;
type Payer = Pick<Meter, 'pay'>;

/**
 * The address of a row: it is stored as the code of an account of its own.
 *
 * So the machine's journal undoes it with its frame, the state's root covers it, and it can be read and proven at any
 * block. Its first byte stops any call to it.
 */
function addressOf({ table, id }: Position): Address {
  const hash = keccak_256(new TextEncoder().encode(`annals/ledger/${table}/${id}`));
  return createAddressFromString(`0x${Buffer.from(hash.subarray(12)).toString('hex')}`);
}

/** The rules' rows in a state, each paid for before it is read or written. */
export class RecordStore {
  readonly #state: State;
  readonly #payer: Payer;

  constructor(state: State, payer: Payer = free) {
    this.#state = state;
    this.#payer = payer;
  }

  /** A row's text; undefined where there is none. */
  async read(table: RecordTable, id: string): Promise<string | undefined> {
    return await this.#read({ table, id });
  }

  /** The ids of all nodes that were ever registered. */
  async nodeIds(): Promise<readonly string[]> {
    return JSON.parse((await this.#read(nodeIds)) ?? '[]') as string[];
  }

  /** The ids of a page of actions. */
  async actionIds(key: ActionKey, page: Parameters<ActionIndex['page']>[1]): Promise<ListedIds> {
    return await new ActionIndex(this.#state, addressOf(indexOfActions), this.#payer).page(key, page);
  }

  /** Writes rows that differ from what is there, and indexes them. */
  async write(records: readonly LedgerRecord[]): Promise<void> {
    for (const record of records) {
      const before = await this.#read(record);
      if (before === record.value) continue;
      await this.#write(record, record.value);
      this.#state.noteRecord(record);
      if (record.table === 'action') await this.#index(before, record.value);
      if (record.table !== 'node' || before !== undefined) continue;
      await this.#write(nodeIds, JSON.stringify([...(await this.nodeIds()), record.id]));
    }
  }

  async #index(before: string | undefined, after: string): Promise<void> {
    const account = addressOf(indexOfActions);
    const isThere = (await this.#state.getAccount(account)) !== undefined;
    if (!isThere) await this.#write(indexOfActions, '');
    const index = new ActionIndex(this.#state, account, this.#payer);
    await index.follow(before === undefined ? undefined : actionIn(before), actionIn(after));
  }

  async #read(position: Position): Promise<string | undefined> {
    this.#payer.pay(gas.row);
    const code = await this.#state.getCode(addressOf(position));
    this.#payer.pay(gas.rowByte * BigInt(code.length));
    return code.length === 0 ? undefined : new TextDecoder().decode(code.subarray(1));
  }

  async #write(location: Position, value: string): Promise<void> {
    const bytes = new Uint8Array([0, ...new TextEncoder().encode(value)]);
    this.#payer.pay(gas.storedByte * BigInt(bytes.length));
    await this.#state.putRecord(addressOf(location), bytes);
  }
}

/** What system contracts did since the last time, as it is now: rows whose writing was undone are as before. */
export async function takeReported(state: State): Promise<Reported> {
  const store = new RecordStore(state);
  const names = state.takeRecords();
  const rows = names.map(async ({ table, id }) => ({ table, id, value: await store.read(table, id) }));
  const records = (await Promise.all(rows)).flatMap(({ table, id, value }) =>
    value === undefined ? [] : [{ table, id, value }],
  );
  return { events: state.takeTold(), records };
}
