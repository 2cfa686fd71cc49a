import type { Action, Changes, LedgerState, SuperNode, Tallies } from './chain.ts';

/** A row of the rules' tables as text, as the virtual machine stores it beside its accounts. */
export type LedgerRecord = Readonly<{ table: RecordTable; id: string; value: string }>;

/** The tables that contracts read and write; accounts are the virtual machine's own. */
export const recordTables = ['action', 'node', 'tallies'] as const;
export type RecordTable = (typeof recordTables)[number];

/** The table of a name in the log. */
export function recordTable(name: string): RecordTable {
  const table = recordTables.find((one) => one === name);
  if (table === undefined) throw new Error(`The log of the ledger names a table that is none: ${name}`);
  return table;
}

/** The counters except that of accounts, which contracts do not number. */
export type CountedRecord = Pick<Tallies, 'actions' | 'evidence'>;

/** The rows of changes; accounts are not among them. */
export function recordsOf({ actions, nodes, tallies }: Changes): LedgerRecord[] {
  const { actions: count, evidence } = tallies;
  return [
    ...[...actions.values()].map((action): LedgerRecord => ({
      table: 'action',
      id: action.id,
      value: JSON.stringify({ ...action, price: String(action.price) }),
    })),
    ...[...nodes.values()].map((node): LedgerRecord => ({
      table: 'node',
      id: node.operator,
      value: JSON.stringify(node),
    })),
    { table: 'tallies', id: '', value: JSON.stringify({ actions: count, evidence } satisfies CountedRecord) },
  ];
}

/**
 * The records of contracts as changes of the chain; accounts excluded. Annals wrote the rows itself, so they are not
 * validated.
 */
export function recordChanges(state: Pick<LedgerState, 'tallies'>, records: readonly LedgerRecord[]): Changes {
  const actions = new Map<string, Action>();
  const nodes = new Map<string, SuperNode>();
  let { tallies } = state;
  for (const { table, id, value } of records) {
    if (table === 'action') actions.set(id, actionIn(value));
    if (table === 'node') nodes.set(id, nodeIn(value));
    if (table === 'tallies') tallies = { ...tallies, ...talliesIn(value) };
  }
  return { tallies, actions, nodes, accounts: new Map() };
}

/** The action of a row. */
export function actionIn(value: string): Action {
  const row = JSON.parse(value) as Omit<Action, 'price'> & Readonly<{ price: string }>;
  return { ...row, price: BigInt(row.price) };
}

/** The SuperNode of a row. */
export function nodeIn(value: string): SuperNode {
  return JSON.parse(value) as SuperNode;
}

/** The counts of a row. */
export function talliesIn(value: string): CountedRecord {
  return JSON.parse(value) as CountedRecord;
}
