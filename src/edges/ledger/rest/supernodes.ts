import { nodeStateAt, type SuperNode } from '../../../commands/ledger/chain.ts';
import { ulumeOf } from '../../../commands/ledger/coins.ts';
import { bytesOf, distance, operatorKey, prefixes } from '../../chain/sign/addresses.ts';
import { type ChainRestRequest, fail, failUnread, integerProblem, type Routes, completeParam } from './answer.ts';
import { pageByKey, pageOf } from './pages.ts';

const base = '/LumeraProtocol/lumera/supernode/v1';
const topLimit = 25;
const nodeStates = ['ACTIVE', 'DISABLED', 'STOPPED', 'PENALIZED', 'POSTPONED', 'STORAGE_FULL'].map(
  (name) => `SUPERNODE_STATE_${name}`,
);

/** The routes of the SuperNode module. */
export const supernodeRoutes: Routes = {
  [`${base}/params`]: ({ view }) => ({ params: paramsRecord(view.genesis.params) }),
  [`${base}/list_super_nodes`]: ({ view, query }) => {
    const { items, pagination } = pageByKey(view.nodes(), (node) => operatorKey(node.operator), pageOf(query));
    return { supernodes: items.map(nodeRecord), pagination };
  },
  [`${base}/get_super_node/{operator}`]: (requested) => {
    const operator = operatorParam(requested);
    const node = requested.view.node(operator);
    return { supernode: node ? nodeRecord(node) : fail(5, `no supernode found for validator ${operator}`) };
  },
  [`${base}/get_super_node_by_address/{account}`]: ({ view, params }) => {
    const node = view.nodes().find((candidate) => candidate.account === params['account']);
    return { supernode: node ? nodeRecord(node) : fail(5, 'supernode not found') };
  },
  [`${base}/get_top_super_nodes_for_block/{blockHeight}`]: (asked) => {
    const height = completeParam(asked, 'blockHeight');
    if (height < 1) fail(2, `codespace sdk code 18: invalid request: invalid block height ${height}`);
    return { supernodes: topNodes(asked, height).map(nodeRecord) };
  },
  [`${base}/metrics/{operator}`]: (asked) => fail(5, `no metrics found for validator ${operatorParam(asked)}`),
  [`${base}/pool_state`]: ({ chain, view }) => {
    const balance = ulumeOf(chain.history.account(view.genesis.modules.supernode)?.balance ?? 0n);
    return {
      balance: balance === 0n ? [] : [{ denom: view.genesis.params.denom, amount: String(balance) }],
      last_distribution_height: '0',
      total_distributed: [],
      eligible_sn_count: '0',
    };
  },
  [`${base}/payout_history/{operator}`]: () => ({ entries: [], pagination: { next_key: null, total: '0' } }),
  [`${base}/sn_eligibility/{operator}`]: ({ view, params }) => {
    const operator = params['operator'] ?? '';
    return {
      eligible: false,
      reason: ineligibility(operator, view.node(operator)),
      cascade_kademlia_db_bytes: 0,
      smoothed_weight: 0,
    };
  },
};

/** Nearest to the height first; a node registered later is not among them. */
function topNodes({ view, query }: ChainRestRequest, height: number): SuperNode[] {
  const limitText = query.get('limit') ?? '0';
  const problem = integerProblem(limitText);
  if (problem) failUnread(problem);
  const wantedState = query.get('state') ?? '';
  const wanted = nodeStates.find((state) => state === wantedState || state === `SUPERNODE_STATE_${wantedState}`);
  const dropped = new Set(['SUPERNODE_STATE_POSTPONED', 'SUPERNODE_STATE_STORAGE_FULL']);
  const ranked = view.nodes().flatMap((node) => {
    const state: string | undefined = nodeStateAt(node, height);
    if (state === undefined || (wanted ? state !== wanted : dropped.has(state))) return [];
    return [{ node, key: distance(height, node.operator) + node.operator }];
  });
  const limit = Number(limitText) > 0 ? Number(limitText) : topLimit;
  return ranked
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, limit)
    .map(({ node }) => node);
}

function ineligibility(operator: string, node: SuperNode | undefined): string {
  const decoded = bytesOf(prefixes.operator, operator);
  if ('problem' in decoded) return `invalid validator address: ${decoded.problem}`;
  if (!node) return 'supernode not found';
  return node.states.at(-1)?.state === 'SUPERNODE_STATE_ACTIVE'
    ? 'no audit epoch report found'
    : 'supernode state is not eligible';
}

function operatorParam({ params }: ChainRestRequest): string {
  const operator = params['operator'] ?? '';
  const decoded = bytesOf(prefixes.operator, operator);
  if ('problem' in decoded) fail(3, `invalid validator address: ${decoded.problem}`);
  return operator;
}

function nodeRecord(node: SuperNode): object {
  return {
    validator_address: node.operator,
    states: node.states.map(({ state, height }) => ({ state, height: String(height), reason: '' })),
    evidence: [],
    prev_ip_addresses: node.addresses.map(({ address, height }) => ({ address, height: String(height) })),
    note: node.note,
    metrics: null,
    supernode_account: node.account,
    p2p_port: node.p2pPort,
    prev_supernode_accounts: node.accounts.map(({ account, height }) => ({ account, height: String(height) })),
  };
}

function paramsRecord({
  denom,
  minimumStake,
  poolShareBps,
}: {
  denom: string;
  minimumStake: string;
  poolShareBps: number;
}): object {
  return {
    minimum_stake_for_sn: { denom, amount: minimumStake },
    reporting_threshold: '0',
    slashing_threshold: '0',
    metrics_thresholds: '',
    evidence_retention_period: '',
    slashing_fraction: '',
    inactivity_penalty_period: '',
    metrics_update_interval_blocks: '400',
    metrics_grace_period_blocks: '100',
    metrics_freshness_max_blocks: '5000',
    min_supernode_version: '0.0.0',
    min_cpu_cores: '8',
    max_cpu_usage_percent: '90',
    min_mem_gb: '16',
    max_mem_usage_percent: '90',
    min_storage_gb: '1000',
    max_storage_usage_percent: '90',
    required_open_ports: [4444, 4445, 8002],
    reward_distribution: {
      payment_period_blocks: '100800',
      registration_fee_share_bps: String(poolShareBps),
      min_cascade_bytes_for_payment: '1000',
      new_sn_ramp_up_periods: '2',
      measurement_smoothing_periods: '2',
      usage_growth_cap_bps_per_period: '1000',
    },
  };
}
