import type { Recorded } from '../../../src/commands/ports.ts';
import type { Fact, FactType } from '../../../src/events/catalogue.ts';
import type { ExpectedAction } from '../chains/recorded-expectations.ts';

const words: Partial<Record<FactType, string>> = {
  ActionRegistered: 'registered',
  ActionFinalized: 'finalized',
  ActionApproved: 'approved',
  ActionExpired: 'expired',
};

/** What facts of actions tell, in their order, by action; a fact that is no transition tells its type. */
export function happenedIn(facts: readonly Recorded[]): Record<string, readonly string[]> {
  const told = facts.map(({ fact }) => ({ action: actionOf(fact), word: words[fact.type] ?? fact.type }));
  const byAction = Map.groupBy(told, ({ action }) => action);
  return Object.fromEntries([...byAction].map(([action, group]) => [action, group.map(({ word }) => word)]));
}

/** The transactions, finalizing accounts and payments that facts of actions hold, by action and type. */
export function transactionsIn(facts: readonly Recorded[]): Record<string, unknown> {
  const told = facts.flatMap(({ fact }): [string, unknown][] => {
    const at = `${actionOf(fact)} ${words[fact.type] ?? fact.type}`;
    if (fact.type === 'ActionRegistered' || fact.type === 'ActionApproved') return [[at, fact.data.transaction]];
    if (fact.type !== 'ActionFinalized') return [];
    const { transaction, accounts, payments } = fact.data;
    // Whether a transaction is counted elsewhere shows in the counts of `paymentInfo`.
    const paid = payments.map(({ account, denom, amount }) => ({ account, denom, amount }));
    return [[at, { ...transaction, accounts, payments: paid.toSorted(byAccount) }]];
  });
  return Object.fromEntries(told);
}

/** The same as the expectations have it, for what happened to some actions. */
export function transactionsOf(
  actions: readonly ExpectedAction[],
  transitions: readonly Readonly<{ action: string; happened: readonly string[] }>[],
): Record<string, unknown> {
  const transactions = transitions.flatMap(({ action: id, happened }) => {
    const action = actions.find((one) => one.id === id);
    if (!action) throw new Error(`The expectations have no action ${id}`);
    const { register, finalize, approve, accounts, payments, pool } = action;
    const paid = { accounts, payments: [...payments, ...pool].toSorted(byAccount) };
    const all = {
      registered: factOf(register),
      finalized: { ...factOf(finalize), ...paid },
      approved: factOf(approve),
    };
    return Object.entries(all)
      .filter(([word]) => happened.includes(word))
      .map(([word, told]): [string, unknown] => [`${id} ${word}`, told]);
  });
  return Object.fromEntries(transactions);
}

/** The record in each fact of a SuperNode or validator, in the expectations' words, in the order of the facts. */
export function recordsIn(facts: readonly Recorded[], entity: 'node' | 'validator'): readonly [string, unknown][] {
  return facts.flatMap(({ fact }): [string, unknown][] => {
    if (!('record' in fact.data)) return [];
    const id = 'node' in fact.data ? fact.data.node : fact.data.validator;
    const record = Object.entries(fact.data.record).map(([name, value]) => [inSnakeCase(name), value]);
    return entity in fact.data ? [[id, Object.fromEntries(record)]] : [];
  });
}

function actionOf(fact: Fact): string {
  if (!('action' in fact.data)) throw new Error(`${fact.type} is about no action`);
  return fact.data.action;
}

function factOf(transaction: ExpectedAction['finalize']): object | undefined {
  if (!transaction) return undefined;
  const { tx_hash: hash, height, time } = transaction;
  return { hash, height, time };
}

const byAccount = (a: Readonly<{ account: string }>, b: Readonly<{ account: string }>) =>
  a.account < b.account ? -1 : 1;

const inSnakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
