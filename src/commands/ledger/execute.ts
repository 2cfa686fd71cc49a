import { approveAction, expireAction, finalizeAction, requestAction, unixSeconds } from './actions.ts';
import { feeAmount } from './ante.ts';
import { type Action, type BlockContext, type LedgerState, type Changes, isOpen, withChanges } from './chain.ts';
import { type ChainEvent, Draft } from './draft.ts';
import { TransactionFailed } from './failure.ts';
import { gasUsed, type Message, type MessageOf, signerOf, type Transaction } from './messages.ts';
import { deregisterNode, registerNode, startNode, stopNode, updateNode } from './supernodes.ts';

/** The result of a transaction: code 0 where it succeeded, else `log` names the reason. */
export type Executed = Readonly<{ changes: Changes; events: readonly ChainEvent[]; code: number; log: string }>;

/**
 * Carries one transaction out on a chain; pure.
 *
 * A transaction that fails costs its fee and shows the events of the fee alone.
 *
 * @example withChanges(state, execute(state, transaction, block).changes)
 */
export function execute(state: LedgerState, transaction: Transaction, block: BlockContext): Executed {
  const ante = new Draft(state);
  payFee(ante, transaction);
  const draft = new Draft(withChanges(state, ante.changes));
  try {
    transaction.messages.forEach((message, index) => {
      draft.closing = { msg_index: String(index) };
      draft.emit('message', {
        action: message['@type'],
        sender: signerOf(message),
        module: message['@type'].split('.')[1] ?? '',
      });
      carryOut(draft, message, block);
    });
    requireGas(transaction);
  } catch (caught) {
    if (!(caught instanceof TransactionFailed)) throw caught;
    const index = draft.closing['msg_index'];
    const log = `failed to execute message; message index: ${index}: ${caught.message}`;
    return { changes: ante.changes, events: ante.events, code: caught.code, log };
  }
  return { changes: joined(ante.changes, draft.changes), events: [...ante.events, ...draft.events], code: 0, log: '' };
}

/** Actions that expire in one block at most; those that remain expire in the next one, which is sealed at once. */
const mostExpiries = 500;

/** Ends a block: actions whose time has come expire. */
export function endBlock(state: LedgerState, block: BlockContext): Pick<Executed, 'changes' | 'events'> {
  const due = dueActions(state, unixSeconds(block.time));
  if (due.length === 0) return { changes: { ...noChanges, tallies: state.tallies }, events: [] };
  const draft = new Draft(state);
  draft.closing = { mode: 'EndBlock' };
  for (const action of due.toSorted((a, b) => Number(a.id) - Number(b.id)).slice(0, mostExpiries)) {
    expireAction(draft, action);
    const active = draft.nodes().filter((node) => node.states.at(-1)?.state === 'SUPERNODE_STATE_ACTIVE');
    draft.count('evidence', Math.min(active.length, 10));
  }
  return { changes: draft.changes, events: draft.events };
}

const noChanges: Omit<Changes, 'tallies'> = { actions: new Map(), nodes: new Map(), accounts: new Map() };

/**
 * A loop, because a starting chain calls this for each of its blocks, and hardly any block has an action that is due.
 */
function dueActions(state: LedgerState, now: number): Action[] {
  const due: Action[] = [];
  for (const action of state.openActions()) if (isOpen(action) && action.expirationTime <= now) due.push(action);
  return due;
}

function payFee(draft: Draft, { signer, publicKey, fee, sequence, signature }: Transaction): void {
  const { params, modules } = draft.state.genesis;
  const amount = feeAmount(fee, params.denom);
  draft.pay(signer, modules.feeCollector, amount);
  const account = draft.account(signer);
  if (account === undefined) throw new Error(`The account ${signer} paid and is not there`);
  draft.emit('tx', { fee: `${amount}${params.denom}`, fee_payer: signer });
  draft.emit('tx', { acc_seq: `${signer}/${sequence}` });
  draft.emit('tx', { signature });
  const key = account.publicKey ?? publicKey;
  draft.putAccount({ ...account, sequence: account.sequence + 1, ...(key === undefined ? {} : { publicKey: key }) });
}

function carryOut(draft: Draft, message: Message, block: BlockContext): void {
  switch (message['@type']) {
    case '/lumera.action.v1.MsgRequestAction':
      return requestAction(draft, message, block);
    case '/lumera.action.v1.MsgFinalizeAction':
      return finalizeAction(draft, message, block);
    case '/lumera.action.v1.MsgApproveAction':
      return approveAction(draft, message);
    case '/lumera.supernode.v1.MsgRegisterSupernode':
      return registerNode(draft, message, block);
    case '/lumera.supernode.v1.MsgUpdateSupernode':
      return updateNode(draft, message, block);
    case '/lumera.supernode.v1.MsgStopSupernode':
      return stopNode(draft, message, block);
    case '/lumera.supernode.v1.MsgStartSupernode':
      return startNode(draft, message, block);
    case '/lumera.supernode.v1.MsgDeregisterSupernode':
      return deregisterNode(draft, message, block);
    case '/cosmos.bank.v1beta1.MsgSend':
      return send(draft, message);
  }
}

function requireGas({ messages, gasLimit }: Transaction): void {
  const used = gasUsed(messages, true);
  if (used > gasLimit)
    throw new TransactionFailed('gas', `out of gas in location: WriteFlat; gasWanted: ${gasLimit}, gasUsed: ${used}`);
}

function joined(first: Changes, second: Changes): Changes {
  return {
    tallies: second.tallies,
    actions: new Map([...first.actions, ...second.actions]),
    nodes: new Map([...first.nodes, ...second.nodes]),
    accounts: new Map([...first.accounts, ...second.accounts]),
  };
}

/** Transfers coins from the signer to another account, which is created where it does not exist. */
export function send(draft: Draft, message: MessageOf<'/cosmos.bank.v1beta1.MsgSend'>): void {
  const { denom } = draft.state.genesis.params;
  const [coin] = message.amount;
  if (coin === undefined || message.amount.length > 1 || !/^[1-9]\d{0,29}$/.test(coin.amount))
    throw new TransactionFailed('coins', coinsText(message.amount));
  if (coin.denom !== denom)
    throw new TransactionFailed(
      'funds',
      `spendable balance 0${coin.denom} is smaller than ${coinsText(message.amount)}`,
    );
  draft.pay(message.from_address, message.to_address, BigInt(coin.amount));
}

function coinsText(coins: MessageOf<'/cosmos.bank.v1beta1.MsgSend'>['amount']): string {
  return coins.map(({ denom, amount }) => `${amount}${denom}`).join(',');
}
