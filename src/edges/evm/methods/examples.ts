import type { Example } from '../rpc/catalogue.ts';

const [hash, word] = [`0x${'ab'.repeat(32)}`, `0x${'00'.repeat(32)}`];
const [unused, identity] = [`0x${'5b'.repeat(20)}`, `0x${'00'.repeat(19)}04`];
const id = '0x1f';
/** A coin's smallest unit from the first development account, signed for the local network. */
const raw =
  '0x02f86f840494c1a980843b9aca0085174876e800825208945b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b0180c080a031cd8c87aaedcf719b58326e59e432571a611cafdfba5dd9b1f1720a24dbe67ba032916413b0c947a2eac8e58b7821d23f0b3970ed2c70c0d11cfbd37c0fc2577c';
const rawHash = '0x27b86cad49c9ba6ae967b00cf38e9693a11493c9e1d57dc0b09447ab6f414df8';
const document = { openrpc: '1.2.6', info: { title: 'Annals EVM JSON-RPC' }, methods: [] };
const simulation = { blockStateCalls: [{ calls: [{ to: identity, input: '0x1234' }] }] };

const oneCall = { output: '0x', stateDiff: null, trace: [{ type: 'call', traceAddress: [] }], vmTrace: null };

const holds = (params: readonly unknown[], result: unknown): Example => ({ params, result });
const like = (params: readonly unknown[], result: unknown): Example => ({ params, result, varies: true });

/** Parameters and their result, by method; a method that declares its own example is absent. */
export const examples: Readonly<Record<string, Example>> = {
  eth_config: like([], { current: { chainId: '0x494c1a9' }, next: null, last: null }),
  eth_capabilities: like([], { head: { number: '0x2a', hash } }),
  web3_clientVersion: like([], 'annals/v0.1.0'),
  rpc_discover: like([], document),
  'rpc.discover': like([], document),
  rpc_modules: like([], { eth: '1.0', net: '1.0', rpc: '1.0', web3: '1.0' }),
  eth_blockNumber: like([], '0x2a'),
  eth_getBlockByHash: holds([hash, false], null),
  eth_getBlockByNumber: like(['latest', false], { hash, number: '0x2a', parentHash: word }),
  eth_getBlockTransactionCountByHash: holds([hash], null),
  eth_getBlockTransactionCountByNumber: holds(['earliest'], '0x0'),
  eth_getTransactionByHash: holds([hash], null),
  eth_getTransactionByBlockHashAndIndex: holds([hash, '0x0'], null),
  eth_getTransactionByBlockNumberAndIndex: holds(['earliest', '0x0'], null),
  eth_getHeaderByHash: holds([hash], null),
  eth_getHeaderByNumber: like(['latest'], { hash, number: '0x2a', parentHash: word }),
  eth_getUncleByBlockHashAndIndex: holds([hash, '0x0'], null),
  eth_getUncleByBlockNumberAndIndex: holds(['earliest', '0x0'], null),
  eth_getUncleCountByBlockHash: holds([hash], null),
  eth_getUncleCountByBlockNumber: holds(['earliest'], '0x0'),
  eth_getRawTransactionByHash: holds([hash], '0x'),
  eth_getRawTransactionByBlockHashAndIndex: holds([hash, '0x0'], '0x'),
  eth_getRawTransactionByBlockNumberAndIndex: holds(['earliest', '0x0'], '0x'),
  eth_pendingTransactions: holds([], []),
  eth_getTransactionReceipt: holds([hash], null),
  eth_getBlockReceipts: holds(['earliest'], []),
  eth_getLogs: holds([{ fromBlock: 'earliest', toBlock: 'latest', address: unused }], []),
  eth_getBalance: holds([unused, 'earliest'], '0x0'),
  eth_getTransactionCount: holds([unused, 'latest'], '0x0'),
  eth_getCode: holds([unused, 'latest'], '0x'),
  eth_getStorageAt: holds([unused, '0x0', 'latest'], word),
  eth_getStorageValues: holds([{ [unused]: ['0x0'] }, 'latest'], { [unused]: [word] }),
  eth_getProof: like([unused, [], 'latest'], { address: unused, balance: '0x0', accountProof: ['0xc0'] }),
  eth_call: holds([{ to: identity, input: '0x1234' }, 'latest'], '0x1234'),
  eth_estimateGas: holds([{ to: unused }], '0x5208'),
  eth_fillTransaction: like([{ to: unused, value: '0x0' }], {
    raw: '0x02c0',
    tx: { to: unused, value: '0x0', gas: '0x5208' },
  }),
  eth_createAccessList: holds([{ to: unused }, 'latest'], { accessList: [], gasUsed: '0x5208' }),
  eth_simulateV1: like([simulation, 'latest'], [{ hash, calls: [{ returnData: '0x1234', status: '0x1' }] }]),
  eth_gasPrice: like([], '0x3b9aca01'),
  eth_maxPriorityFeePerGas: like([], '0x1'),
  eth_baseFee: like([], '0x3b9aca00'),
  eth_blobBaseFee: holds([], '0x1'),
  eth_feeHistory: like(['0x1', 'latest'], {
    oldestBlock: '0x2a',
    baseFeePerGas: ['0x3b9aca00', '0x3b9aca00'],
    gasUsedRatio: [0],
  }),
  eth_sendRawTransaction: holds([raw], rawHash),
  eth_sendRawTransactionSync: like([raw, 1], {
    transactionHash: rawHash,
    blockHash: hash,
    cumulativeGasUsed: '0x5208',
  }),
  txpool_status: like([], { pending: '0x0', queued: '0x0' }),
  txpool_inspect: like([], { pending: {}, queued: {} }),
  txpool_content: like([], { pending: {}, queued: {} }),
  txpool_contentFrom: holds([unused], { pending: {}, queued: {} }),
  testing_buildBlockV1: like(
    [
      hash,
      {
        timestamp: '0x7fffffff',
        prevRandao: word,
        suggestedFeeRecipient: unused,
        withdrawals: [],
        parentBeaconBlockRoot: word,
      },
    ],
    { executionPayload: { parentHash: hash }, blockValue: '0x0' },
  ),
  eth_newFilter: like([{ address: unused }], id),
  eth_newBlockFilter: like([], id),
  eth_newPendingTransactionFilter: like([], id),
  eth_getFilterChanges: like([id], []),
  eth_getFilterLogs: like([id], []),
  eth_uninstallFilter: holds([id], false),
  eth_subscribe: like(['newHeads'], id),
  eth_unsubscribe: like([id], true),
  ots_getApiLevel: holds([], 8),
  erigon_getHeaderByNumber: like([0], { hash, number: '0x0', parentHash: hash }),
  ots_hasCode: holds([unused, 'latest'], false),
  ots_getBlockDetails: like([0], { block: { hash, number: '0x0' }, issuance: { issuance: '0x0' }, totalFees: '0x0' }),
  ots_getBlockDetailsByHash: holds([hash], null),
  ots_getBlockTransactions: like([0, 0, 25], { fullblock: { hash, transactions: [] }, receipts: [] }),
  ots_getInternalOperations: like([hash], []),
  ots_getTransactionError: like([hash], '0x'),
  ots_traceTransaction: like([hash], []),
  ots_searchTransactionsBefore: holds([unused, 0, 25], { txs: [], receipts: [], firstPage: true, lastPage: true }),
  ots_searchTransactionsAfter: holds([unused, 0, 25], { txs: [], receipts: [], firstPage: true, lastPage: true }),
  ots_getTransactionBySenderAndNonce: holds([unused, 0], null),
  ots_getContractCreator: holds([unused], null),
  trace_block: holds(['earliest'], []),
  trace_transaction: holds([hash], null),
  trace_replayTransaction: holds([hash, ['trace', 'stateDiff']], null),
  trace_replayBlockTransactions: holds(['earliest', ['trace']], []),
  trace_call: like([{ to: unused }, ['trace']], oneCall),
  trace_callMany: like([[[{ to: unused }, ['trace']]], 'latest'], [oneCall]),
  trace_rawTransaction: like([raw, ['trace']], oneCall),
  trace_get: holds([hash, ['0x0']], null),
  trace_filter: holds([{ fromBlock: 'earliest', toBlock: 'earliest', toAddress: [unused] }], []),
  debug_getRawBlock: like(['latest'], '0xc0'),
  debug_getRawHeader: like(['latest'], '0xc0'),
  debug_getRawReceipts: holds(['earliest'], []),
  debug_getRawTransaction: holds([hash], '0x'),
  debug_traceBlockByNumber: like(['latest', { tracer: 'callTracer' }], []),
  debug_traceBlockByHash: like([hash, { tracer: 'callTracer' }], []),
  debug_traceBlock: like(['0xc0', { tracer: 'noopTracer' }], []),
  debug_traceTransaction: like([hash, { tracer: 'callTracer' }], { type: 'CALL', gasUsed: '0x5208' }),
  debug_storageRangeAt: like(['latest', 0, unused, '0x', 1], { storage: {}, nextKey: null }),
  debug_traceCall: like([{ to: unused }, 'latest', { tracer: 'callTracer' }], { type: 'CALL', gasUsed: '0x5208' }),
};
