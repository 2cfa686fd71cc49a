import { bech32 } from '@scure/base';
import { pageOf } from './pages.ts';
import type { ActionRecord, Step, TransactionRecord } from './records.ts';
import { badParameter, notImplemented, Refusal } from './refusal.ts';
import { refusePruned, searchTransactions, transactionByHash } from './search.ts';

/** What the chain shows now. */
export type State = Readonly<{
  /** Every step up to the one that the chain stands at, which is the last. */
  past: readonly Step[];
  now: Step;
  transactions: readonly TransactionRecord[];
  fixed: Readonly<Record<string, unknown>>;
  /** Blocks below this height are gone. */
  lowest: number;
}>;

/** An answer and the height that its header names. */
export type Answered = Readonly<{ body: unknown; height: number }>;

const actionBase = '/LumeraProtocol/lumera/action/v1/';
const paramsStep = 20;

/** Answers a request as the chain did; throws a `Refusal` where the chain refuses, and where nothing was recorded. */
export function answer(state: State, path: string, params: URLSearchParams, heightHeader: string): Answered {
  const { now, transactions } = state;
  const view = { head: now.height, lowest: state.lowest };
  const atHead = (body: unknown): Answered => ({ body, height: now.height });
  const tail = (base: string) =>
    path.startsWith(base) && !path.slice(base.length).includes('/') ? path.slice(base.length) : undefined;
  const action = tail(`${actionBase}get_action/`);
  const hash = tail('/cosmos/tx/v1beta1/txs/');
  const block = tail('/cosmos/base/tendermint/v1beta1/blocks/');
  if (path === '/cosmos/tx/v1beta1/txs') return atHead(searchTransactions(transactions, params, view));
  if (hash) return atHead(transactionByHash(transactions, decodeURIComponent(hash), view));
  if (block) return atHead(blockAt(state, block));
  if (action !== undefined && !/%2f/i.test(action)) return actionAt(state, decodeURIComponent(action), heightHeader);
  if (Object.hasOwn(state.fixed, path)) {
    heightOf(state, heightHeader);
    if (path === `${actionBase}params` && now.step < paramsStep) throw notImplemented();
    return atHead(state.fixed[path]);
  }
  return listAt(state, path, params, heightHeader);
}

function listAt(state: State, path: string, params: URLSearchParams, heightHeader: string): Answered {
  const list = lists[path];
  if (!list) throw notImplemented();
  const height = heightOf(state, heightHeader);
  const step = state.past.find((one) => one.height === height);
  if (!step) throw notKept(height, state.now.height);
  return { body: list(step, params), height };
}

const lists: Readonly<Record<string, (step: Step, params: URLSearchParams) => unknown>> = {
  [`${actionBase}list_actions`]: ({ actions }, params) => {
    const type = enumOf(params.get('actionType'), 'ActionType', ['UNSPECIFIED', 'SENSE', 'CASCADE']);
    const words = ['UNSPECIFIED', 'PENDING', 'PROCESSING', 'DONE', 'APPROVED', 'REJECTED', 'FAILED', 'EXPIRED'];
    const state = enumOf(params.get('actionState'), 'ActionState', words);
    return actionList(actions, params, (one) => (!type || one.actionType === type) && (!state || one.state === state));
  },
  [`${actionBase}list_expired_actions`]: ({ actions }, params) =>
    actionList(actions, params, ({ state }) => state === 'ACTION_STATE_EXPIRED'),
  '/LumeraProtocol/lumera/supernode/v1/list_super_nodes': ({ supernodes }, params) => {
    const { items, pagination } = pageOf(supernodes, params, { keyOf: (one) => addressBytes(one.validator_address) });
    return { supernodes: items, pagination };
  },
  '/cosmos/staking/v1beta1/validators': ({ validators }, params) => {
    const status = params.get('status') ?? '';
    if (!['', 'BOND_STATUS_BONDED', 'BOND_STATUS_UNBONDING', 'BOND_STATUS_UNBONDED'].includes(status))
      throw new Refusal(400, 3, `invalid validator status ${status}`);
    const keyOf = (one: { operator_address: string }) =>
      Buffer.concat([Buffer.of(20), addressBytes(one.operator_address)]);
    const matches = (one: { status: string }) => status === '' || one.status === status;
    const { items, pagination } = pageOf(validators, params, { keyOf, matches });
    return { validators: items, pagination };
  },
};

function actionList(
  actions: readonly ActionRecord[],
  params: URLSearchParams,
  matches: (one: ActionRecord) => boolean,
): unknown {
  const keyOf = ({ actionID }: ActionRecord) => Buffer.from(actionID);
  const { items, pagination } = pageOf(actions, params, { keyOf, matches, countsDown: true });
  return { actions: items, pagination, total: pagination.total };
}

/** The long name of an enum's value, given by name or number; empty for the value that filters nothing. */
function enumOf(text: string | null, type: string, words: readonly string[]): string {
  const prefix = type === 'ActionType' ? 'ACTION_TYPE_' : 'ACTION_STATE_';
  const names = words.map((word) => prefix + word);
  const name =
    text === null
      ? names[0]
      : (names.find((one) => one === text) ?? (/^\d+$/.test(text) ? names[Number(text)] : undefined));
  if (name === undefined) throw badParameter(`${text} is not a valid types.${type}`);
  return name === names[0] ? '' : name;
}

/** A record at a height between two steps is known where it was still untouched when it was first recorded. */
function actionAt(state: State, id: string, heightHeader: string): Answered {
  const height = heightOf(state, heightHeader);
  const recordings = state.past.flatMap(({ height: at, actions }) =>
    actions.filter(({ actionID }) => actionID === id).map((action) => ({ at, action })),
  );
  const [first] = recordings;
  if (!first || Number(first.action.blockHeight) > height) {
    throw new Refusal(404, 5, 'failed to get action by ID', height);
  }
  const isUntouched = Number(first.action.blockHeight) === height && first.action.state === 'ACTION_STATE_PENDING';
  const recording = recordings.find(({ at }) => at === height) ?? (isUntouched ? first : undefined);
  if (!recording) throw notKept(height, state.now.height);
  return { body: { action: recording.action }, height };
}

function heightOf({ now, lowest }: State, header: string): number {
  const query = '; please provide a valid height';
  if (header === '' || header === '0') return now.height;
  if (!/^-?\d+$/.test(header)) {
    const reason = `invalid height header "x-cosmos-block-height": strconv.ParseInt: parsing ${JSON.stringify(header)}: invalid syntax`;
    throw new Refusal(500, 2, `codespace sdk code 18: invalid request: Baseapp.RegisterGRPCServer: ${reason}`, 'none');
  }
  const height = Number(header);
  if (height < 0)
    throw new Refusal(500, 2, `codespace sdk code 18: invalid request: cannot query with height < 0${query}`, 'none');
  if (height > now.height)
    throw new Refusal(
      500,
      2,
      `codespace sdk code 26: invalid height: cannot query with height in the future${query}`,
      'none',
    );
  if (height < lowest) throw notKept(height, now.height);
  return height;
}

function notKept(height: number, latest: number): Refusal {
  const why =
    'version mismatch on immutable IAVL tree; version does not exist. Version has either been pruned, or is for a future block height';
  const message = `codespace sdk code 38: not found: failed to load state at height ${height}; ${why} (latest height: ${latest})`;
  return new Refusal(500, 2, message, 'none');
}

function blockAt({ past, now, fixed, lowest }: State, text: string): unknown {
  if (text === 'latest') return now.block;
  if (!/^\d+$/.test(text))
    throw badParameter(
      `type mismatch, parameter: height, error: strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  const height = Number(text);
  if (height === 0) throw new Refusal(500, 2, 'height must be greater than 0, but got 0');
  if (height > now.height) throw new Refusal(400, 3, 'requested block height is bigger then the chain length');
  refusePruned(height, { head: now.height, lowest }, 2);
  const block =
    past.find((step) => step.height === height)?.block ?? fixed[`/cosmos/base/tendermint/v1beta1/blocks/${height}`];
  if (block === undefined) throw notImplemented();
  return block;
}

function addressBytes(address: string): Buffer {
  const at = address.lastIndexOf('1');
  if (at < 1) throw new Error(`${address} is no Bech32 address`);
  return Buffer.from(bech32.decodeToBytes(address).bytes);
}
