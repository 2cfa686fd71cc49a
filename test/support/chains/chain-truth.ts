import type { ChainState, StubTransaction } from './chain-stub-state.ts';

type Json = { readonly [field: string]: unknown };
type Coin = Readonly<{ denom: string; amount: string }>;

/** A step of an action as a transaction of the chain shows it. */
export type TrueStep = Readonly<{
  hash: string;
  height: number;
  time: string;
  /** What the action module paid in its message. */
  payments: readonly (Coin & { account: string; again?: boolean })[];
  accounts: readonly string[];
  dataHash: string;
}>;

/** One action, as the chain's records and transactions say. */
export type TrueAction = Readonly<{
  id: string;
  kind: string;
  creator: string;
  height: number;
  chainState: string;
  dataHash: string;
  metadata: unknown;
  price: Coin;
  expiresAt: string;
  register: TrueStep;
  finalize: TrueStep | undefined;
  approve: TrueStep | undefined;
}>;

/** Every action of the chain as it is now, worked out from what the chain holds and nothing of the program. */
export function trueActions(chain: ChainState): TrueAction[] {
  const steps = stepsIn(chain);
  return [...chain.at(chain.height).actions].map(([id, record]) => {
    const height = Number(record['blockHeight']);
    const step = (type: string): TrueStep | undefined => steps.get(`${type} ${id}`);
    const register = step('action_registered');
    if (!register) throw new Error(`The chain holds no transaction that registered ${id}`);
    const approve = step('action_approved');
    return {
      id,
      kind: word(record['actionType'], 'ACTION_TYPE_'),
      creator: String(record['creator']),
      height,
      chainState: word(record['state'], 'ACTION_STATE_'),
      dataHash: register.dataHash,
      metadata: chain.at(height).actions.get(id)?.['metadata'],
      price: coinsIn(String(record['price']))[0] as Coin,
      expiresAt: new Date(Number(record['expirationTime']) * 1000).toISOString().replace('.000Z', 'Z'),
      register,
      finalize: step('action_finalized'),
      approve,
    };
  });
}

/** The facts that an action's life consists of, in order; what depends on when it was looked at is left out. */
export function trueFacts(action: TrueAction): Json[] {
  const { id, register, finalize, approve, chainState, price } = action;
  const known = { creator: action.creator, dataHash: action.dataHash, expiresAt: action.expiresAt };
  const at = ({ hash, height, time }: TrueStep) => ({ hash, height, time });
  const transactions = [{ step: 'register', hash: register.hash }];
  const facts: Json[] = [];
  const add = (type: string, data: Json, state: Json): void => {
    const carried = { ...known, ...state, transactions: [...transactions] };
    facts.push({ type, data: { action: id, ...data, known: carried } });
  };
  const { kind, height, metadata } = action;
  const registered = { kind, height, price, fileSizeKbs: 6, metadata, transaction: at(register) };
  add('ActionRegistered', registered, { chainState: 'pending', reached: 'registered' });
  if (finalize) {
    transactions.push({ step: 'finalize', hash: finalize.hash });
    const { accounts, payments } = finalize;
    const data = { accounts, payments, transaction: at(finalize) };
    add('ActionFinalized', data, { chainState: 'done', reached: 'finalized' });
  }
  if (approve) {
    transactions.push({ step: 'approve', hash: approve.hash });
    add('ActionApproved', { transaction: at(approve) }, { chainState: 'approved', reached: 'approved' });
  }
  if (chainState === 'expired') add('ActionExpired', {}, { chainState, reached: 'registered' });
  return facts;
}

/** What the chain lists of a SuperNode at a height; undefined where it lists none. */
export function trueNode(chain: ChainState, operator: string, height: number): Json | undefined {
  const record = chain.at(height).supernodes.get(operator);
  if (!record) return undefined;
  const [states, addresses, accounts] = ['states', 'prev_ip_addresses', 'prev_supernode_accounts'].map(
    (field) => record[field] as Record<string, string>[],
  );
  const last = states?.at(-1);
  return {
    state: word(last?.['state'], 'SUPERNODE_STATE_'),
    stateHeight: Number(last?.['height']),
    stateReason: last?.['reason'],
    address: addresses?.at(-1)?.['address'],
    account: record['supernode_account'],
    accounts: accounts?.map(({ account, height: since }) => ({ account, height: Number(since) })),
    note: record['note'],
    p2pPort: record['p2p_port'],
    registeredHeight: Number(states?.[0]?.['height']),
  };
}

/** What the chain lists of a validator at a height; undefined where it lists none. */
export function trueValidator(chain: ChainState, operator: string, height: number): Json | undefined {
  const record = chain.at(height).validators.get(operator);
  if (!record) return undefined;
  const { moniker } = record['description'] as { moniker: string };
  return { moniker, status: word(record['status'], 'BOND_STATUS_'), jailed: record['jailed'] };
}

/** Every step that a transaction tells of, by event and action. */
function stepsIn(chain: ChainState): ReadonlyMap<string, TrueStep> {
  const steps = new Map<string, TrueStep>();
  for (const transaction of chain.transactions) {
    const paidBefore = new Set<string>();
    for (const { type, attributes } of transaction.events) {
      const { action_id: id, msg_index: message = '' } = valuesOf(attributes);
      if (!/^action_(registered|finalized|approved)$/.test(type) || id === undefined) continue;
      if (steps.has(`${type} ${id}`)) throw new Error(`The chain tells of ${type} ${id} twice`);
      const step = stepOf(transaction, type, message);
      const names = step.payments.map(({ account, denom }) => `${account} ${denom}`);
      const payments = step.payments.map((paid, at) =>
        paidBefore.has(names[at] ?? '') ? { ...paid, again: true } : paid,
      );
      for (const name of names) paidBefore.add(name);
      steps.set(`${type} ${id}`, { ...step, payments });
    }
  }
  return steps;
}

function stepOf({ txhash, height, timestamp, events, tx }: StubTransaction, type: string, message: string): TrueStep {
  const ofMessage = events
    .map((event) => ({ type: event.type, values: valuesOf(event.attributes) }))
    .filter(({ values }) => values['msg_index'] === message);
  const payments = ofMessage
    .filter((event) => event.type === 'transfer' && type === 'action_finalized')
    .flatMap(({ values: { recipient = '', amount = '' } }) =>
      coinsIn(amount).map((coin) => ({ account: recipient, ...coin })),
    );
  const accounts = ofMessage.flatMap(({ values: { supernodes } }) => supernodes ?? []);
  const { messages } = tx['body'] as { messages: { metadata?: string }[] };
  const metadata = messages[Number(message)]?.metadata ?? '{}';
  const { data_hash: dataHash = '' } = JSON.parse(metadata) as { data_hash?: string };
  return { hash: txhash, height, time: timestamp, payments, accounts, dataHash };
}

const valuesOf = (attributes: readonly { key: string; value: string }[]): Record<string, string | undefined> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value]));

function coinsIn(text: string): Coin[] {
  return [...text.matchAll(/(\d+)([a-z]+)/g)].map(([, amount = '', denom = '']) => ({ denom, amount }));
}

const word = (name: unknown, prefix: string): string => String(name).slice(prefix.length).toLowerCase();
