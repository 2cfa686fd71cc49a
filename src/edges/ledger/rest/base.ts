import { createHash } from 'node:crypto';
import type { Account, Validator } from '../../../commands/ledger/chain.ts';
import { ulumeOf } from '../../../commands/ledger/coins.ts';
import { addressOf, bytesOf, prefixes } from '../../chain/sign/addresses.ts';
import { type SealedBlock, bytesOfTransaction, sha256 } from '../blocks/blocks.ts';
import type { Chain } from '../chain.ts';
import { keyUrls } from '../../chain/sign/keys.ts';
import { type ChainRestRequest, fail, nanoTime, type Routes, completeParam } from './answer.ts';
import { requireStored } from './transactions.ts';

const tendermint = '/cosmos/base/tendermint/v1beta1';
const auth = '/cosmos/auth/v1beta1';
const bank = '/cosmos/bank/v1beta1';
const emptyHash = sha256('');

/** What REST and RPC name or write differently of the node. */
type NodeForm = Readonly<{ idName: 'id' | 'default_node_id'; channels: string }>;

/** The chain's node as its REST and its RPC describe it; no node runs, so its addresses are the usual ones. */
export function nodeInfo(chain: Chain, { idName, channels }: NodeForm): object {
  return {
    protocol_version: { p2p: '8', block: '11', app: '0' },
    [idName]: createHash('sha256').update(chain.chainId).digest('hex').slice(0, 40),
    listen_addr: 'tcp://127.0.0.1:26656',
    network: chain.chainId,
    version: '0.38.19',
    channels,
    moniker: 'annals',
    other: { tx_index: 'on', rpc_address: 'tcp://127.0.0.1:26657' },
  };
}

/** Blocks, the node itself, accounts and balances. */
export const baseRoutes: Routes = {
  [`${tendermint}/blocks/latest`]: ({ chain }) => blockRecord(chain, chain.head ?? fail(13, 'no block is sealed yet')),
  [`${tendermint}/blocks/{height}`]: async (request) => {
    const height = completeParam(request, 'height');
    if (height < 1) fail(2, `height must be greater than 0, but got ${height}`);
    if (height > request.chain.height) fail(3, 'requested block height is bigger then the chain length');
    requireStored(request, height, 2);
    const block = (await request.chain.block(height)) ?? fail(14, `block ${height} cannot be read now`);
    return await blockRecord(request.chain, block);
  },
  [`${tendermint}/node_info`]: ({ chain }) => ({
    default_node_info: nodeInfo(chain, { idName: 'default_node_id', channels: 'QCAhIiMwOGBh' }),
    application_version: {
      name: 'lumera',
      app_name: 'annals',
      version: 'v1.20.0',
      git_commit: '',
      build_tags: '',
      go_version: '',
      build_deps: [],
      cosmos_sdk_version: 'v0.53.6',
    },
  }),
  [`${tendermint}/syncing`]: () => ({ syncing: false }),
  '/cosmos/base/node/v1beta1/status': ({ chain }) => ({
    earliest_store_height: '0',
    height: String(chain.height),
    timestamp: nanoTime(chain.time),
    app_hash: chain.head?.hash ?? emptyHash,
    validator_hash: validatorsHash(chain),
  }),
  [`${auth}/accounts/{address}`]: (asked) => ({
    account: { '@type': '/cosmos.auth.v1beta1.BaseAccount', ...accountRecord(accountParam(asked)) },
  }),
  [`${auth}/account_info/{address}`]: (asked) => ({ info: accountRecord(accountParam(asked)) }),
  [`${auth}/module_accounts`]: ({ chain }) => ({
    accounts: Object.keys(moduleNames).map((name) => moduleRecord(chain, name)),
  }),
  [`${auth}/module_accounts/{name}`]: ({ chain, params }) => ({ account: moduleRecord(chain, params['name'] ?? '') }),
  [`${bank}/balances/{address}`]: ({ chain, params }) => {
    const balance = balanceOf(chain, params['address'] ?? '');
    const balances = balance === 0n ? [] : [{ denom: chain.genesis.params.denom, amount: String(balance) }];
    return { balances, pagination: { next_key: null, total: String(balances.length) } };
  },
  [`${bank}/balances/{address}/by_denom`]: ({ chain, params, query }) => {
    const denom = query.get('denom') ?? '';
    const balance = balanceOf(chain, params['address'] ?? '');
    return { balance: { denom, amount: denom === chain.genesis.params.denom ? String(balance) : '0' } };
  },
};

const moduleNames = { action: 'action', supernode: 'supernode', fee_collector: 'feeCollector' } as const;

function moduleRecord(chain: Chain, name: string): object {
  const key = Object.entries(moduleNames).find(([wire]) => wire === name)?.[1] ?? fail(5, `account ${name} not found`);
  const account = chain.history.account(chain.genesis.modules[key]) ?? fail(5, `account ${name} not found`);
  const permissions = key === 'feeCollector' ? [] : ['minter', 'burner', 'staking'];
  return { '@type': '/cosmos.auth.v1beta1.ModuleAccount', base_account: accountRecord(account), name, permissions };
}

function accountParam({ chain, params }: ChainRestRequest): Account {
  const address = params['address'] ?? '';
  const decoded = bytesOf(prefixes.account, address);
  if ('problem' in decoded) fail(2, `codespace sdk code 35: internal logic error: ${decoded.problem}`);
  return chain.history.account(address.toLowerCase()) ?? fail(5, `account ${address} not found`);
}

function accountRecord({ address, publicKey, number, sequence }: Account): object {
  const pubKey = publicKey ? { '@type': keyUrls[publicKey.type], key: publicKey.key } : null;
  return { address, pub_key: pubKey, account_number: String(number), sequence: String(sequence) };
}

function balanceOf(chain: Chain, address: string): bigint {
  const decoded = bytesOf(prefixes.account, address);
  if ('problem' in decoded) fail(3, `invalid address: ${decoded.problem}`);
  return ulumeOf(chain.history.account(address.toLowerCase())?.balance ?? 0n);
}

/** A block with its transactions, hashes in base64. */
export async function blockRecord(chain: Chain, block: SealedBlock): Promise<object> {
  const transactions = await chain.whole(block.transactions);
  const proposer = proposerOf(chain.genesis.validators);
  const blockId = idOf(block.hash);
  const lastBlockId =
    block.previousHash === null ? { hash: null, part_set_header: { total: 0, hash: null } } : idOf(block.previousHash);
  const header = {
    version: { block: '11', app: '0' },
    chain_id: chain.chainId,
    height: String(block.height),
    time: nanoTime(block.time),
    last_block_id: lastBlockId,
    last_commit_hash: sha256(block.previousHash ?? ''),
    data_hash: block.transactions.length === 0 ? emptyHash : block.dataHash,
    validators_hash: validatorsHash(chain),
    next_validators_hash: validatorsHash(chain),
    consensus_hash: emptyHash,
    app_hash: sha256(block.hash),
    last_results_hash: emptyHash,
    evidence_hash: emptyHash,
    proposer_address: Buffer.from(proposer).toString('base64'),
  };
  const rest = {
    data: { txs: transactions.map((one) => Buffer.from(bytesOfTransaction(one)).toString('base64')) },
    evidence: { evidence: [] },
    last_commit: { height: String(block.height - 1), round: 0, block_id: lastBlockId, signatures: [] },
  };
  const sdkHeader = { ...header, proposer_address: addressOf('lumeravalcons', proposer) };
  return { block_id: blockId, block: { header, ...rest }, sdk_block: { header: sdkHeader, ...rest } };
}

function idOf(hash: string): object {
  return { hash, part_set_header: { total: 1, hash: sha256(hash) } };
}

function validatorsHash(chain: Chain): string {
  return sha256(JSON.stringify(chain.genesis.validators));
}

/** The first validator proposes every block; its address is the head of the hash of its key. */
export function proposerOf(validators: readonly Validator[]): Uint8Array {
  const key = Buffer.from(validators[0]?.consensusKey ?? '', 'base64');
  return createHash('sha256').update(key).digest().subarray(0, 20);
}
