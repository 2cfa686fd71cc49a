import { readFileSync } from 'node:fs';

/** An action as the chain's REST shows it, as far as it is looked at here. */
export type ActionRecord = Readonly<{ actionID: string; actionType: string; state: string; blockHeight: string }>;
/** A SuperNode as the chain's REST shows it, as far as it is looked at here. */
export type NodeRecord = Readonly<{ validator_address: string }>;
/** A validator as the chain's REST shows it, as far as it is looked at here. */
export type ValidatorRecord = Readonly<{ operator_address: string; status: string }>;

/** A transaction as the search shows it, as far as it is looked at here. */
export type TransactionRecord = Readonly<{
  height: string;
  txhash: string;
  tx: Readonly<Record<string, unknown>>;
  events: readonly Readonly<{ type: string; attributes: readonly Readonly<{ key: string; value: string }>[] }>[];
}>;

/** What the chain's lists showed at one height. */
export type Step = Readonly<{
  step: number;
  height: number;
  /** RFC 3339 with nanoseconds, of the block. */
  time: string;
  what: string;
  block: unknown;
  actions: readonly ActionRecord[];
  supernodes: readonly NodeRecord[];
  validators: readonly ValidatorRecord[];
}>;

/** An answer that was recorded, to compare with. */
export type RecordedAnswer = Readonly<{
  step: number;
  path: string;
  status: number;
  height: string | null;
  headers?: Readonly<Record<string, string>>;
  method?: string;
  sha256?: string;
  body?: unknown;
}>;

const folder = new URL('../../../fixtures/chain-rest/', import.meta.url);
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, folder), 'utf8'));

/** Every step, each with its whole lists. */
export function readSteps(): readonly Step[] {
  const actions = new Map<string, ActionRecord>();
  const supernodes = new Map<string, NodeRecord>();
  const validators = new Map<string, ValidatorRecord>();
  return (read('steps.json') as readonly Step[]).map((changes) => {
    for (const record of changes.actions) actions.set(record.actionID, record);
    for (const record of changes.supernodes) supernodes.set(record.validator_address, record);
    for (const record of changes.validators) validators.set(record.operator_address, record);
    const whole = {
      actions: [...actions.values()],
      supernodes: [...supernodes.values()],
      validators: [...validators.values()],
    };
    return { ...changes, ...whole };
  });
}

/** Every transaction about actions, in the order of the chain. */
export const readTransactions = (): readonly TransactionRecord[] =>
  read('transactions.json') as readonly TransactionRecord[];

/** Answers that are the same at every step, by path. */
export const readFixed = (): Readonly<Record<string, unknown>> =>
  read('fixed.json') as Readonly<Record<string, unknown>>;

/** Answers to compare with. */
export const readAnswers = (): readonly RecordedAnswer[] => read('answers.json') as readonly RecordedAnswer[];
