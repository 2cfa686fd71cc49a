import type { Action } from '../../../commands/ledger/chain.ts';
import { encodedMetadata, searchableFields } from '../../../commands/ledger/metadata.ts';
import { bytesOf, prefixes } from '../../chain/sign/addresses.ts';
import { type ChainRestRequest, enumQuery, fail, integerProblem, type Routes, completeParam } from './answer.ts';
import { pageByKey, pageByPosition, type Paged, pageOf } from './pages.ts';

const base = '/LumeraProtocol/lumera/action/v1';
/** By their numbers on the wire. */
export const actionTypes = ['ACTION_TYPE_UNSPECIFIED', 'ACTION_TYPE_SENSE', 'ACTION_TYPE_CASCADE'] as const;
/** By their numbers on the wire. */
export const actionStates = [
  'ACTION_STATE_UNSPECIFIED',
  'ACTION_STATE_PENDING',
  'ACTION_STATE_PROCESSING',
  'ACTION_STATE_DONE',
  'ACTION_STATE_APPROVED',
  'ACTION_STATE_REJECTED',
  'ACTION_STATE_FAILED',
  'ACTION_STATE_EXPIRED',
] as const;

/** The routes of the action module. */
export const actionRoutes: Routes = {
  [`${base}/params`]: ({ view }) => {
    const { params } = view.genesis;
    return {
      params: {
        base_action_fee: { denom: params.denom, amount: params.baseActionFee },
        fee_per_kbyte: { denom: params.denom, amount: params.feePerKbyte },
        max_actions_per_block: String(params.maxActionsPerBlock),
        min_super_nodes: '1',
        max_dd_and_fingerprints: String(params.maxDdAndFingerprints),
        max_raptor_q_symbols: String(params.maxRaptorQSymbols),
        expiration_duration: `${params.expirationSeconds}s`,
        min_processing_time: '60s',
        max_processing_time: '3600s',
        super_node_fee_share: '1.000000000000000000',
        foundation_fee_share: '0.000000000000000000',
        svc_challenge_count: 8,
        svc_min_chunks_for_challenge: 4,
      },
    };
  },
  [`${base}/get_action/{id}`]: (request) => {
    const action = request.view.action(request.params['id'] ?? '');
    return { action: action ? actionRecord(request, action) : fail(5, 'failed to get action by ID') };
  },
  [`${base}/get_action_fee/{size}`]: ({ view, params }) => {
    const size = params['size'] ?? '';
    const problem = integerProblem(size);
    if (problem) fail(3, `invalid data_size: ${problem}`);
    return {
      amount: String(
        BigInt(view.genesis.params.baseActionFee) + BigInt(view.genesis.params.feePerKbyte) * BigInt(size),
      ),
    };
  },
  [`${base}/list_actions`]: (requested) => {
    const type = enumQuery(requested.query, 'actionType', 'types.ActionType', actionTypes);
    const state = enumQuery(requested.query, 'actionState', 'types.ActionState', actionStates);
    const isRequested = (action: Action) =>
      (type === actionTypes[0] || action.type === type) && (state === actionStates[0] || action.state === state);
    return numericList(requested, isRequested);
  },
  [`${base}/list_expired_actions`]: (asked) => numericList(asked, (action) => action.state === 'ACTION_STATE_EXPIRED'),
  [`${base}/list_actions_by_creator/{creator}`]: (asked) => {
    const creator = asked.params['creator'] ?? '';
    const decoded = bytesOf(prefixes.account, creator);
    if ('problem' in decoded) {
      const isPrefix = decoded.problem.startsWith('hrp');
      fail(
        3,
        `invalid creator address: ${decoded.problem.replaceAll("'", isPrefix ? "'" : '')}${isPrefix ? ': internal logic error' : ''}`,
      );
    }
    return lexicalList(asked, (action) => action.creator === creator);
  },
  [`${base}/list_actions_by_supernode/{node}`]: (asked) =>
    lexicalList(asked, (action) => action.superNodes.includes(asked.params['node'] ?? '')),
  [`${base}/list_actions_by_block_height/{blockHeight}`]: (asked) => {
    const height = completeParam(asked, 'blockHeight');
    if (height < 0) fail(3, 'block height must be non-negative');
    return lexicalList(asked, (action) => action.height === height);
  },
  [`${base}/query_action_by_metadata`]: (asked) => {
    const type = enumQuery(asked.query, 'actionType', 'types.ActionType', actionTypes);
    const wanted = asked.query.get('metadataQuery') ?? '';
    if (type === actionTypes[0] || wanted === '') fail(3, 'action type and metadata query required');
    const at = wanted.indexOf('=');
    if (at === -1) fail(3, "invalid metadata query format, expected 'field=value'");
    const [field, value] = [wanted.slice(0, at), wanted.slice(at + 1)];
    const list = lexicalList(
      asked,
      (action) => action.type === type && searchableFields(action.metadata)[field] === value,
    );
    return { ...list, total: '0' };
  },
};

/** Forwards by id as text, backwards by id as number: what the chain does for the two lists of all actions. */
function numericList(asked: ChainRestRequest, isAsked: (action: Action) => boolean): object {
  const page = pageOf(asked.query);
  if (!page.isReverse) return lexicalList(asked, isAsked);
  const newestFirst = asked.view
    .actions()
    .filter(isAsked)
    .toSorted((a, b) => Number(b.id) - Number(a.id));
  return actionList(asked, pageByPosition(newestFirst, page));
}

function lexicalList(asked: ChainRestRequest, isAsked: (action: Action) => boolean): ReturnType<typeof actionList> {
  const page = pageOf(asked.query);
  return actionList(
    asked,
    pageByKey(asked.view.actions().filter(isAsked), (action) => Buffer.from(action.id), page),
  );
}

function actionList(
  asked: ChainRestRequest,
  { items, pagination }: Paged<Action>,
): { actions: object[]; pagination: object; total: string } {
  return { actions: items.map((action) => actionRecord(asked, action)), pagination, total: pagination.total };
}

function actionRecord({ view, options }: ChainRestRequest, action: Action): object {
  const { denom } = view.genesis.params;
  const isObject = options.hasPriceObject?.(action.id) ?? false;
  return {
    creator: action.creator,
    actionID: action.id,
    actionType: action.type,
    metadata: encodedMetadata(action.metadata),
    price: isObject ? { denom, amount: String(action.price) } : `${action.price}${denom}`,
    expirationTime: String(action.expirationTime),
    state: action.state,
    blockHeight: String(action.height),
    superNodes: action.superNodes,
    fileSizeKbs: String(action.fileSizeKbs),
    app_pubkey: null,
  };
}
