import { metadataFields } from './metadata.mjs';
import { attributesOf, transactionWith, transfersOf } from './transactions.mjs';

/** The last of the three steps that a chain state stands for. */
export function statusOf(chainState) {
  if (chainState === 'approved') return 'approved';
  return chainState === 'done' ? 'finalized' : 'registered';
}

/** What happened to actions between two readings of the list, by id. */
export function transitionsOf(before, now) {
  const known = new Map(before.map(({ actionID, state }) => [actionID, state]));
  return now
    .filter(({ actionID, state }) => known.get(actionID) !== state)
    .map(({ actionID, state }) => ({ action: actionID, happened: happened(known.get(actionID), state) }))
    .toSorted((a, b) => Number(a.action) - Number(b.action));
}

const way = ['ACTION_STATE_PENDING', 'ACTION_STATE_DONE', 'ACTION_STATE_APPROVED'];
const words = ['registered', 'finalized', 'approved'];

function happened(from, to) {
  const start = from === undefined ? 0 : way.indexOf(from) + 1;
  if (to === 'ACTION_STATE_EXPIRED') return [...words.slice(start, 1), 'expired'];
  const end = way.indexOf(to);
  if (end < 0) throw new Error(`No recording has the state ${to}`);
  return words.slice(start, end + 1);
}

/** Everything that is to be known of an action in the end. */
export function actionAtEnd(chain, id) {
  const recordings = chain.steps.flatMap((step) =>
    step.actions.filter(({ actionID }) => actionID === id).map((record) => ({ step, record })),
  );
  const { record } = recordings.at(-1);
  const chainState = record.state.replace('ACTION_STATE_', '').toLowerCase();
  const [register, finalize, approve] = words.map((word) => transactionWith(chain.transactions, `action_${word}`, id));
  const status = statusOf(chainState);
  checkSteps(recordings, [register, finalize, approve]);
  const accounts = finalize ? attributesOf(finalize.event).supernodes.split(',') : [];
  const [denom] = /[a-z]+$/.exec(record.price);
  return {
    id,
    type: record.actionType.replace('ACTION_TYPE_', '').toLowerCase(),
    status,
    chain_state: chainState,
    creator: record.creator,
    height: Number(record.blockHeight),
    price: { denom, amount: record.price.slice(0, -denom.length) },
    expires_at: new Date(Number(record.expirationTime) * 1000).toISOString().replace('.000Z', 'Z'),
    file_size_kbs: Number(record.fileSizeKbs),
    ...content(recordings, register, id),
    register: briefly(register),
    finalize: briefly(finalize),
    approve: briefly(approve),
    accounts,
    supernodes: accounts.map((account) => chain.operatorAt(account, Number(finalize.transaction.height))),
    ...payments(chain, finalize),
  };
}

/** At every step the record has to be as far as the transactions up to then. */
function checkSteps(recordings, steps) {
  for (const { step, record } of recordings) {
    const status = statusOf(record.state.replace('ACTION_STATE_', '').toLowerCase());
    const reached = steps.filter((found) => found && Number(found.transaction.height) <= step.height).length;
    if (reached !== words.indexOf(status) + 1)
      throw new Error(`Action ${record.actionID} is ${status} at step ${step.step}, but has ${reached} transactions`);
  }
}

function content(recordings, register, id) {
  const first = recordings.find(({ record }) => (record.metadata ?? '') !== '');
  const isCascade = recordings[0].record.actionType === 'ACTION_TYPE_CASCADE';
  const fields = first && metadataFields(first.record.metadata);
  const message = register.transaction.tx.body.messages[Number(attributesOf(register.event).msg_index)];
  const told = typeof message.metadata === 'string' ? JSON.parse(message.metadata) : undefined;
  const hash = fields?.text(1) ?? told?.data_hash;
  if (!hash) throw new Error(`Action ${id} has no data hash anywhere`);
  if (told && told.data_hash !== hash) throw new Error(`Action ${id} has two data hashes`);
  return {
    data_hash: hash,
    data_hash_from: first ? `step ${first.step.step}` : 'register message',
    file_name: isCascade ? (fields?.text(2) ?? null) : null,
    public: isCascade ? fields?.flag(7) === true : null,
  };
}

function payments({ moduleAccount, nodeAccounts }, finalize) {
  if (!finalize) return { payments: [], pool: [] };
  const sent = transfersOf(finalize, moduleAccount);
  return {
    payments: sent.filter(({ account }) => nodeAccounts.has(account)),
    pool: sent.filter(({ account }) => !nodeAccounts.has(account)),
  };
}

function briefly(found) {
  if (!found) return null;
  const { txhash, height, timestamp } = found.transaction;
  return { tx_hash: txhash, height: Number(height), time: timestamp };
}
