import { type BlockContext, type LedgerState, type Genesis, withChanges } from '../../../src/commands/ledger/chain.ts';
import { ulumeOf } from '../../../src/commands/ledger/coins.ts';
import { endBlock, type Executed, execute } from '../../../src/commands/ledger/execute.ts';
import { genesisState } from '../../../src/commands/ledger/genesis.ts';
import {
  gasWanted,
  type Message,
  type MessageOf,
  signerOf,
  type Transaction,
} from '../../../src/commands/ledger/messages.ts';

/** Operator and account of a node are the same bytes: the texts agree but for prefix and checksum. */
export const people = {
  alice: 'lumera1alicealicexxxxxx',
  bob: 'lumera1bobbobbobyyyyyy',
  node: 'lumera1nodenodenodezzzzzz',
  otherNode: 'lumera1othernodezzzzzz',
  operator: 'lumera1valvalvalaaaaaa',
  operatorValoper: 'lumeravaloper1valvalvalbbbbbb',
} as const;

export const genesis: Genesis = {
  contracts: 2,
  params: {
    denom: 'ulume',
    baseActionFee: '10000',
    feePerKbyte: '10',
    expirationSeconds: 45,
    maxRaptorQSymbols: 2,
    maxDdAndFingerprints: 1,
    maxActionsPerBlock: 10,
    poolShareBps: 200,
    minimumStake: '1',
  },
  modules: { action: 'module-action', supernode: 'module-supernode', feeCollector: 'module-fees' },
  accounts: [people.alice, people.bob, people.node, people.operator].map((address) => ({
    address,
    balance: '1000000',
  })),
  validators: [{ operator: people.operatorValoper, consensusKey: '', moniker: 'one', tokens: '1', isJailed: false }],
};

const startedAt = Date.UTC(2026, 0, 1);

/** Plays transactions one a block, ten seconds apart; blocks count from 1. */
export class SmallChain {
  state: LedgerState = genesisState(genesis);
  height = 0;

  block(): BlockContext {
    const time = new Date(startedAt + this.height * 10_000).toISOString();
    return { height: this.height, time, distance: (height, operator) => `${height}/${operator}` };
  }

  run(...messages: readonly Message[]): Executed {
    this.height += 1;
    const executed = execute(this.state, transactionOf(this.state, messages), this.block());
    this.state = withChanges(this.state, executed.changes);
    return executed;
  }

  /** Ends a block so many seconds after the last one. */
  expire(afterSeconds: number): Pick<Executed, 'events' | 'changes'> {
    const block = this.block();
    const time = new Date(Date.parse(block.time) + afterSeconds * 1000).toISOString();
    const ended = endBlock(this.state, { ...block, time });
    this.state = withChanges(this.state, ended.changes);
    return ended;
  }

  /** In ulume. */
  balance(address: string): bigint {
    return ulumeOf(this.state.account(address)?.balance ?? 0n);
  }
}

/** A transaction as its first signer would send it, with the usual gas and fee. */
export function transactionOf(
  state: LedgerState,
  messages: readonly Message[],
  changes: Partial<Transaction> = {},
): Transaction {
  const signer = messages[0] ? signerOf(messages[0]) : '';
  const gasLimit = gasWanted(messages);
  return {
    messages,
    signer,
    publicKey: { type: 'secp256k1', key: 'key' },
    sequence: state.account(signer)?.sequence ?? 0,
    fee: [{ denom: 'ulume', amount: String(gasLimit / 100) }],
    gasLimit,
    memo: '',
    timeoutHeight: 0,
    mode: 'SIGN_MODE_DIRECT',
    signature: 'signature',
    ...changes,
  };
}

/** A chain on which the node of the one validator is registered. */
export function chainWithNode(): SmallChain {
  const chain = new SmallChain();
  chain.run(registerNode());
  return chain;
}

export const registerNode = (
  changes: Partial<MessageOf<'/lumera.supernode.v1.MsgRegisterSupernode'>> = {},
): Message => ({
  '@type': '/lumera.supernode.v1.MsgRegisterSupernode',
  creator: people.operator,
  validatorAddress: people.operatorValoper,
  ipAddress: '127.0.1.1:4444',
  supernodeAccount: people.node,
  p2p_port: '',
  ...changes,
});

export const request = (changes: Partial<MessageOf<'/lumera.action.v1.MsgRequestAction'>> = {}): Message => ({
  '@type': '/lumera.action.v1.MsgRequestAction',
  creator: people.alice,
  actionType: 'cascade',
  metadata: JSON.stringify({ data_hash: 'hash', file_name: 'a.txt', rq_ids_ic: 6, signatures: 'a.b', public: true }),
  price: '10060ulume',
  expirationTime: String(startedAt / 1000 + 100),
  fileSizeKbs: '6',
  app_pubkey: null,
  ...changes,
});

export const requestSense = (): Message =>
  request({
    actionType: 'SENSE',
    metadata: JSON.stringify({ data_hash: 'hash', collection_id: 'c', group_id: 'g', dd_and_fingerprints_ic: 1 }),
  });

export const finalize = (
  actionId: string,
  { by = people.node, ids = ['x', 'y'] }: { by?: string; ids?: string[] } = {},
): Message => ({
  '@type': '/lumera.action.v1.MsgFinalizeAction',
  creator: by,
  actionId,
  actionType: 'CASCADE',
  metadata: JSON.stringify({ rq_ids_ids: ids, dd_and_fingerprints_ids: ids }),
});

export const approve = (actionId: string, creator: string = people.alice): Message => ({
  '@type': '/lumera.action.v1.MsgApproveAction',
  creator,
  actionId,
});

/** Types and keys of events in order, which is what recordings of another chain can be compared by. */
export function outline(events: readonly { type: string; attributes: readonly { key: string }[] }[]): string[] {
  return events.map(({ type, attributes }) => `${type}(${attributes.map(({ key }) => key).join(',')})`);
}
