import { createHash } from 'node:crypto';
import { bytesOfTransaction, type CompleteTransaction } from '../blocks/blocks.ts';
import type { Chain } from '../chain.ts';
import { decodeTransaction, hashOf, UnreadableTransaction } from '../../chain/sign/transaction-codec.ts';
import { codespaceOf } from '../../../commands/ledger/failure.ts';
import { blockRecord, nodeInfo, proposerOf } from '../rest/base.ts';
import { nanoTime, prunedState, RestError } from '../rest/answer.ts';
import { dataOf, eventRecords } from '../rest/transactions.ts';
import { parseQuery } from '../blocks/search-query.ts';
import type { SimulatedOn } from '../simulate.ts';
import { bytesIn, type Parameters, textIn, completeIn } from './parameters.ts';
import { queries } from './queries.ts';
import { RpcError } from '../../json-rpc/rpc-error.ts';

type Method = (serving: SimulatedOn, parameters: Parameters) => unknown;

const emptyHash = createHash('sha256').update('').digest('hex').toUpperCase();
const mostPerPage = 100;
const usualPerPage = 30;

/** The methods of the RPC by name: those that wallets and the network's clients use. */
export const methods: Readonly<Record<string, Method>> = {
  health: () => ({}),
  status: ({ chain }) => statusOf(chain),
  abci_info: ({ chain }) => ({
    response: {
      data: 'lumera',
      version: 'v1.20.0',
      last_block_height: String(chain.height),
      last_block_app_hash: chain.head?.hash ?? '',
    },
  }),
  abci_query: abciQuery,
  block: async ({ chain }, parameters) => {
    const height = completeIn(parameters, 'height') ?? chain.height;
    if (height > chain.height)
      throw new RpcError(
        -32603,
        `height ${height} must be less than or equal to the current blockchain height ${chain.height}`,
      );
    const block = await chain.block(height);
    if (block === undefined) throw new RpcError(-32603, `height must be greater than 0, but got ${height}`);
    const { block_id, block: shown } = hashesInHex(await blockRecord(chain, block)) as Record<string, unknown>;
    return { block_id, block: shown };
  },
  broadcast_tx_sync: broadcast,
  tx: async ({ chain }, parameters) => {
    const hash = Buffer.from(bytesIn(parameters, 'hash', 'base64'))
      .toString('hex')
      .toUpperCase();
    const match = await chain.transaction(hash);
    const [complete] = match ? await chain.whole([match]) : [];
    if (complete === undefined) throw new RpcError(-32603, `tx (${hash}) not found`);
    return await transactionRecord(chain, complete);
  },
  tx_search: search,
};

function statusOf(chain: Chain): object {
  const { head, genesis, height } = chain;
  const first = chain.firstBlock;
  const [validator] = genesis.validators;
  return {
    node_info: nodeInfo(chain, { idName: 'id', channels: '402021222330386061' }),
    sync_info: {
      latest_block_hash: hexOf(head?.hash),
      latest_app_hash: emptyHash,
      latest_block_height: String(height),
      latest_block_time: nanoTime(chain.time),
      earliest_block_hash: hexOf(first?.hash),
      earliest_app_hash: emptyHash,
      earliest_block_height: String(Math.min(height, 1)),
      earliest_block_time: nanoTime(first?.time ?? chain.startedAt),
      catching_up: false,
    },
    validator_info: {
      address: Buffer.from(proposerOf(genesis.validators)).toString('hex').toUpperCase(),
      pub_key: { type: 'tendermint/PubKeyEd25519', value: validator?.consensusKey ?? '' },
      voting_power: String(Math.floor(Number(validator?.tokens ?? 0) / 1_000_000)),
    },
  };
}

/** A query that is refused is a result as well: its code and the words are the chain's. */
function abciQuery(serving: SimulatedOn, parameters: Parameters): object {
  const { chain } = serving;
  const path = textIn(parameters, 'path');
  const height = completeIn(parameters, 'height') ?? 0;
  const shown = { info: '', index: '0', key: null, proofOps: null };
  const refused = (code: number, log: string): object => ({
    response: { ...shown, code, log, value: null, height: String(chain.height), codespace: 'sdk' },
  });
  const handler = Object.hasOwn(queries, path) ? queries[path] : undefined;
  if (handler === undefined) return refused(6, `unknown query path ${path.slice(0, 200)}: unknown request`);
  if (height > chain.height)
    return refused(26, 'cannot query with height in the future; please provide a valid height: invalid height');
  if (height > 0 && height < chain.lowestHeight) return refused(38, `${prunedState(chain, height)}: not found`);
  try {
    const view = chain.history.view(height || chain.height);
    const value = handler({ ...serving, view }, bytesIn(parameters, 'data', 'hex'));
    const text = Buffer.from(value).toString('base64');
    return { response: { ...shown, code: 0, log: '', value: text, height: String(view.height), codespace: '' } };
  } catch (caught) {
    if (!(caught instanceof RestError)) throw caught;
    const isMissing = caught.grpcCode === 5;
    const status = {
      2: 'Unknown',
      3: 'InvalidArgument',
      5: 'NotFound',
      12: 'Unimplemented',
      13: 'Internal',
      14: 'Unavailable',
    };
    return refused(
      isMissing ? 22 : 18,
      `rpc error: code = ${status[caught.grpcCode]} desc = ${caught.message}: ${isMissing ? 'key not found' : 'invalid request'}`,
    );
  }
}

/**
 * Sends a transaction. The answer comes when its block is in the log, because nothing that was acknowledged may be
 * lost; it reports only whether the transaction was accepted, as the real chain's check does.
 */
async function broadcast({ sealer }: SimulatedOn, parameters: Parameters): Promise<object> {
  const bytes = bytesIn(parameters, 'tx', 'base64');
  const checked = (code: number, log: string): object => {
    const codespace = code === 0 ? '' : 'sdk';
    return { code, data: '', log, codespace, hash: hashOf(bytes) };
  };
  try {
    const submitted = await sealer.submissions.submit(decodeTransaction(bytes));
    if ('refusal' in submitted) return checked(submitted.refusal.code, submitted.refusal.log);
    await submitted.sealed;
    return checked(0, '');
  } catch (caught) {
    if (caught instanceof UnreadableTransaction) return checked(2, caught.message);
    throw caught;
  }
}

async function search({ chain }: SimulatedOn, parameters: Parameters): Promise<object> {
  const conditions = parseQuery(textIn(parameters, 'query'));
  const order = textIn(parameters, 'order_by') || 'asc';
  if (order !== 'asc' && order !== 'desc')
    throw new RpcError(-32603, 'expected order_by to be either `asc` or `desc` or empty');
  const limit = Math.min(completeIn(parameters, 'per_page') || usualPerPage, mostPerPage);
  const page = completeIn(parameters, 'page') ?? 1;
  const offset = Math.max(0, (page - 1) * limit);
  const { total, transactions } = await chain.search(conditions, { order, offset, limit });
  const pages = Math.max(1, Math.ceil(total / limit));
  if (page < 1 || page > pages) throw new RpcError(-32603, `page should be within [1, ${pages}] range, given ${page}`);
  const shown = await chain.whole(transactions);
  const txs = await Promise.all(shown.map((one) => transactionRecord(chain, one)));
  return { txs, total_count: String(total) };
}

async function transactionRecord(chain: Chain, transaction: CompleteTransaction): Promise<object> {
  const { hash, height, code, log, gasWanted, gasUsed, events } = transaction;
  const index = (await chain.block(height))?.transactions.findIndex((one) => one.hash === hash) ?? 0;
  return {
    hash,
    height: String(height),
    index,
    tx_result: {
      code,
      data: code === 0 ? Buffer.from(dataOf(transaction), 'hex').toString('base64') : null,
      log,
      info: '',
      gas_wanted: String(gasWanted),
      gas_used: String(gasUsed),
      events: eventRecords(events),
      codespace: codespaceOf(code, log),
    },
    tx: Buffer.from(bytesOfTransaction(transaction)).toString('base64'),
  };
}

function hexOf(base64: string | undefined): string {
  return base64 === undefined ? '' : Buffer.from(base64, 'base64').toString('hex').toUpperCase();
}

/** The RPC shows hashes and addresses as hex where REST shows base64. */
function hashesInHex(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => hashesInHex(one));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hashesInHex(one, name)]));
  const isHash = key.endsWith('hash') || key === 'proposer_address';
  return isHash && typeof value === 'string' ? hexOf(value) : isHash ? '' : value;
}
