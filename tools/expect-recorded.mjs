// Counts what the recorded chain (test/fixtures/chain-rest) has to come to, with nothing of src/, and writes it to
// test/fixtures/recorded-expectations.json; with --check it only says whether that file is current.
//
// How each figure is counted:
// - An action's type, chain state, creator, price, expiry, size and height: its record at that step, as it stands.
// - status: by the chain state (approved; done is finalized; everything else registered), and checked against the
//   transactions: each step of an action has exactly one transaction with its event, never after the step's height.
// - data_hash: field 1 of the metadata's protobuf bytes in the earliest recording that has any (a finalized Sense
// action has   none left); where no recording has any, of the JSON in the register message. Where both are there they
// have to agree. - register, finalize, approve: hash, height and time of the one transaction with the event
// action_registered,   action_finalized or action_approved of that id. - accounts: attribute `supernodes` of the
// action_finalized event. supernodes: the operators whose account each was at the   height of that transaction, by the
// account histories at the last step. - payments: `transfer` events of the finalize transaction with the msg_index of
// the action's own event, sent by the action   module's account, to an account that is or was a SuperNode's; those to
// anyone else (the reward pool) are `pool`. - payments by account and operator: amounts added up, `count` counts
// transactions, not transfers. - A SuperNode's state, address: the entry of the greatest height, the later one of
// equals. registered_height: that of the   first state entry. Its ip: the address without port. - transitions of a
// step: what lies between an action's record at the step before (or none) and this one. - totals: counted over the
// records of the step.
import { readFileSync, writeFileSync } from 'node:fs';
import { actionAtEnd, statusOf, transitionsOf } from './expect-recorded/actions.mjs';
import { nodeOf, operatorAt, validatorOf } from './expect-recorded/nodes.mjs';
import { paymentsByAccount, paymentsByOperator } from './expect-recorded/payments.mjs';

const fixtures = new URL('../test/fixtures/', import.meta.url);
const output = new URL('recorded-expectations.json', fixtures);
const read = (file) => JSON.parse(readFileSync(new URL(`chain-rest/${file}`, fixtures), 'utf8'));

const whole = wholeSteps(read('steps.json'));
const last = whole.at(-1);
const moduleAccount = read('fixed.json')['/cosmos/auth/v1beta1/module_accounts/action'].account.base_account.address;
const nodes = last.supernodes.map(nodeOf);
const chain = {
  steps: whole,
  transactions: read('transactions.json'),
  moduleAccount,
  nodeAccounts: new Set(nodes.flatMap(({ accounts }) => accounts.map(({ account }) => account))),
  operatorAt: (account, height) => operatorAt(nodes, account, height),
};

const actions = last.actions.map(({ actionID }) => actionAtEnd(chain, actionID)).toSorted(byId);
const expectations = {
  chain_id: last.block.block.header.chain_id,
  module_account: moduleAccount,
  steps: whole.map((step, index) => stepFigures(step, whole[index - 1])),
  actions,
  finalized_by_account: countBy(actions.flatMap(({ accounts }) => accounts)),
  finalized_by_operator: countBy(actions.flatMap(({ supernodes }) => supernodes)),
  payments_by_account: paymentsByAccount(actions),
  payments_by_operator: paymentsByOperator(actions, chain.operatorAt),
};

const text = `${JSON.stringify(expectations, null, 1)}\n`;
if (!process.argv.includes('--check')) writeFileSync(output, text);
else if (readFileSync(output, 'utf8') !== text) {
  console.error('test/fixtures/recorded-expectations.json is not what tools/expect-recorded.mjs writes');
  process.exitCode = 1;
}

/** The recordings keep only what changed; here every step has its whole lists. */
function wholeSteps(changes) {
  const known = { actions: new Map(), supernodes: new Map(), validators: new Map() };
  const keys = { actions: 'actionID', supernodes: 'validator_address', validators: 'operator_address' };
  return changes.map((step) => {
    const lists = Object.entries(keys).map(([list, key]) => {
      for (const record of step[list]) known[list].set(record[key], record);
      return [list, [...known[list].values()]];
    });
    return { ...step, ...Object.fromEntries(lists) };
  });
}

function stepFigures(step, before) {
  const { step: number, height, time, what, actions: records, supernodes, validators } = step;
  const types = records.map(({ actionType }) => actionType.replace('ACTION_TYPE_', '').toLowerCase());
  const states = records.map(({ state }) => state.replace('ACTION_STATE_', '').toLowerCase());
  const statuses = states.map(statusOf);
  const id = (one) => one.id;
  return {
    step: number,
    height,
    time,
    what,
    totals: {
      actions: records.length,
      by_type: countBy(types),
      by_chain_state: countBy(states),
      by_status: countBy(statuses),
      by_type_and_status: countBy(types.map((type, index) => `${type}/${statuses[index]}`)),
      by_creator: countBy(records.map(({ creator }) => creator)),
    },
    statuses: Object.fromEntries(records.map(({ actionID }, index) => [actionID, statuses[index]])),
    chain_states: Object.fromEntries(records.map(({ actionID }, index) => [actionID, states[index]])),
    transitions: transitionsOf(before?.actions ?? [], records),
    supernodes: supernodes.map(nodeOf).toSorted((a, b) => (id(a) < id(b) ? -1 : 1)),
    validators: validators.map(validatorOf).toSorted((a, b) => (id(a) < id(b) ? -1 : 1)),
  };
}

function countBy(words) {
  const counts = {};
  for (const word of words.toSorted()) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function byId(a, b) {
  return Number(a.id) - Number(b.id);
}
