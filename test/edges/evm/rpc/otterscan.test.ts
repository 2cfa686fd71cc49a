import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, createAddressFromString, createContractAddress, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createForks } from '../../../../src/edges/evm/executor/forks.ts';
import type { ChainBlocks } from '../../../../src/edges/evm/chain/chain-blocks.ts';
import { AppError } from '../../../../src/kit/errors.ts';
import { networkChain } from '../../../../src/edges/evm/executor/state/genesis.ts';
import type { Hex } from '../../../../src/edges/evm/executor/outcome.ts';
import { funded, fundedKey, type SealingChain, startSealingChain } from '../../../support/chains/sealing-chain.ts';
import requests from '../../../fixtures/otterscan-requests.json' with { type: 'json' };
import { creationOf } from '../mixed-history.ts';

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ namespaces: ['eth', 'ots', 'trace'] });
});
afterAll(async () => await chain.stop());

const ask = (method: string, ...params: readonly unknown[]) => askAt(chain.url, method, ...params);

async function askAt(url: string, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const headers = { 'content-type': 'application/json' };
  const answer = (await (await fetch(url, { method: 'POST', body, headers })).json()) as {
    result?: unknown;
    error?: { code: number };
  };
  return answer.error?.code ?? answer.result;
}

const common = createForks(networkChain({ chainId: 76857769, seconds: 1, accounts: {} })).at({
  number: 1n,
  timestamp: 1n,
});
let nonce = 0n;

/** Sends a transaction of the funded account and waits for its block; returns its hash. */
async function send(values: Readonly<{ to?: Hex; data?: Hex; value?: bigint }>): Promise<string> {
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n, gasLimit: 300_000n };
  const tx = createFeeMarket1559Tx({ chainId: 76857769n, nonce, ...fees, ...values }, { common });
  nonce += 1n;
  const receipt = await ask('eth_sendRawTransactionSync', bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize()));
  const { transactionHash: hash } = receipt as { transactionHash: string };
  expect(await ask('eth_getTransactionReceipt', hash)).toEqual(receipt);
  return hash;
}

const created = (at: number): Hex => createContractAddress(createAddressFromString(funded), BigInt(at)).toString();
const heir: Hex = `0x${'77'.repeat(20)}`;
/** Sends on what it is sent. */
const forwards = `5f5f5f5f3473${heir.slice(2)}5af100`;
/** Reverts with four bytes. */
const reverts = '63deadbeef5f526004601cfd';

test('whoever sends and waits is answered with the receipt, also where blocks cannot be read for a moment', async () => {
  let lost = 2;
  const otherwise = (blocks: ChainBlocks): Partial<ChainBlocks> => {
    const own = blocks.ofTransaction.bind(blocks);
    const away = new AppError('UNAVAILABLE', 'PostgreSQL does not answer for now');
    return { ofTransaction: async (hash) => await (lost-- > 0 ? Promise.reject(away) : own(hash)) };
  };
  const away = await startSealingChain({ otherwise });
  onTestFinished(() => away.stop());
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n, gasLimit: 21_000n };
  const tx = createFeeMarket1559Tx({ chainId: 76857769n, nonce: 0n, to: heir, ...fees }, { common });
  const raw = bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize());
  expect(await askAt(away.url, 'eth_sendRawTransactionSync', raw)).toMatchObject({ status: '0x1', to: heir });
});

test('what a stock Otterscan requests is answered from blocks, traces and states', async () => {
  expect(await ask('ots_getApiLevel')).toBe(8);
  const [forwarder, reverter] = [created(0), created(1)];
  const creation = await send({ data: creationOf(forwards) });
  await send({ data: creationOf(reverts) });
  const forwarded = await send({ to: forwarder, value: 5n });
  const reverted = await send({ to: reverter });

  expect([await ask('ots_hasCode', forwarder, 'latest'), await ask('ots_hasCode', heir, 'latest')]).toEqual([
    true,
    false,
  ]);
  expect(await ask('ots_hasCode', forwarder, '0x0')).toBe(false);
  expect(await ask('ots_getContractCreator', forwarder)).toEqual({ hash: creation, creator: funded });
  expect(await ask('ots_getContractCreator', heir)).toBe(null);
  expect(await ask('ots_getTransactionBySenderAndNonce', funded, 2)).toBe(forwarded);
  expect(await ask('ots_getTransactionBySenderAndNonce', funded, 9)).toBe(null);

  expect(await ask('ots_getInternalOperations', forwarded)).toEqual([
    { type: 0, from: forwarder, to: heir, value: '0x5' },
  ]);
  expect(await ask('ots_getTransactionError', reverted)).toBe('0xdeadbeef');
  expect(await ask('ots_getTransactionError', forwarded)).toBe('0x');
  expect(await ask('ots_traceTransaction', forwarded)).toMatchObject([
    { type: 'CALL', depth: 0, from: funded, to: forwarder, value: '0x5' },
    { type: 'CALL', depth: 1, from: forwarder, to: heir, value: '0x5', input: '0x' },
  ]);
  expect(await ask('ots_traceTransaction', `0x${'ab'.repeat(32)}`)).toBe(-32000);

  const receipt = (await ask('eth_getTransactionReceipt', forwarded)) as Record<string, Hex>;
  const block = Number(receipt['blockNumber']);
  const fees = BigInt(receipt['gasUsed'] ?? 0) * BigInt(receipt['effectiveGasPrice'] ?? 0);
  const details = await ask('ots_getBlockDetails', block);
  expect(details).toMatchObject({
    block: { transactionCount: 1, logsBloom: null },
    totalFees: `0x${fees.toString(16)}`,
  });
  expect(await ask('ots_getBlockDetailsByHash', receipt['blockHash'])).toEqual(details);
  expect(await ask('ots_getBlockDetails', 999)).toBe(null);
  expect(await ask('ots_getBlockTransactions', block, 0, 25)).toMatchObject({
    fullblock: { transactions: [{ hash: forwarded, input: '0x' }] },
    receipts: [{ transactionHash: forwarded, logs: null }],
  });
  expect(await ask('ots_getBlockTransactions', block, 1, 25)).toMatchObject({ fullblock: { transactions: [] } });
});

/** Parts of answers that Otterscan cannot do without; it shows nothing of a page whose answer lacks one. */
const [text, flag, amount] = [expect.any(String), expect.any(Boolean), expect.stringMatching(/^0x[0-9a-f]+$/)] as [
  unknown,
  unknown,
  unknown,
];
const ofHeader = {
  hash: text,
  parentHash: text,
  number: amount,
  timestamp: amount,
  nonce: text,
  difficulty: amount,
  gasLimit: amount,
  gasUsed: amount,
  miner: text,
  extraData: text,
};
const listed = { from: text, gasPrice: amount, value: amount, nonce: amount, input: text, hash: text, type: amount };
const receipt = { transactionHash: text, gasUsed: amount, status: amount, cumulativeGasUsed: amount, type: amount };
const found = {
  txs: expect.arrayContaining([expect.objectContaining(listed)]) as unknown,
  receipts: expect.arrayContaining([
    expect.objectContaining({
      ...receipt,
      timestamp: expect.any(Number) as unknown,
      logs: expect.any(Array) as unknown,
    }),
  ]) as unknown,
  firstPage: flag,
  lastPage: flag,
};
const needed: Readonly<Record<string, object>> = {
  erigon_getHeaderByNumber: ofHeader,
  ots_getBlockDetails: { block: { ...ofHeader, size: amount, sha3Uncles: text, stateRoot: text }, totalFees: amount },
  ots_getBlockDetailsByHash: { block: ofHeader, issuance: {}, totalFees: amount },
  ots_getBlockTransactions: {
    fullblock: { ...ofHeader, transactions: [listed] },
    receipts: [receipt],
  },
  ots_getInternalOperations: [{ type: 0, from: text, to: text, value: '0x5' }],
  ots_traceTransaction: [
    { type: 'CALL', depth: 0 },
    { type: 'CALL', depth: 1 },
  ],
  ots_searchTransactionsBefore: found,
  ots_searchTransactionsAfter: found,
};

test.each(requests)('answers what Otterscan requests on its page of $page: $method', async ({ method, params }) => {
  const [transaction, failed] = await Promise.all(
    [2, 3].map(async (at) => await ask('ots_getTransactionBySenderAndNonce', funded, at)),
  );
  const { blockNumber, blockHash } = (await ask('eth_getTransactionReceipt', transaction)) as Record<string, Hex>;
  const height = Number(blockNumber);
  const heights = { $height: height, $heightBefore: height - 1, $heightAfter: height + 1, $blockHash: blockHash };
  const values: Record<string, unknown> = { ...heights, $transaction: transaction, $failed: failed };
  const named: Record<string, unknown> = { ...values, $account: funded, $contract: created(0) };
  const answer = await ask(
    method,
    ...params.map((one: unknown) => (typeof one === 'string' && one.startsWith('$') ? named[one] : one)),
  );
  expect(answer).not.toBeNull();
  expect(typeof answer === 'number' ? answer : 1).toBeGreaterThan(0);
  const form = needed[method];
  if (form) expect(answer).toMatchObject(form);
});

test('a header that there is not is null, and a replay shows what changed', async () => {
  expect(await ask('erigon_getHeaderByNumber', 999_999)).toBe(null);
  const forwarded = (await ask('ots_getTransactionBySenderAndNonce', funded, 2)) as Hex;
  const replayed = await ask('trace_replayTransaction', forwarded, ['stateDiff', 'trace']);
  const balance = { '*': { from: amount, to: amount } };
  expect(replayed).toMatchObject({
    output: '0x',
    vmTrace: null,
    stateDiff: {
      [funded]: { balance, code: '=', nonce: { '*': { from: '0x2', to: '0x3' } }, storage: {} },
      [heir]: { balance: { '+': '0x5' }, code: { '+': '0x' }, nonce: { '+': '0x0' }, storage: {} },
    },
    trace: [
      { action: { callType: 'call', from: funded, to: created(0), value: '0x5' }, subtraces: 1, traceAddress: [] },
      { action: { from: created(0), to: heir }, subtraces: 0, traceAddress: [0], type: 'call' },
    ],
  });
  expect(await ask('trace_replayTransaction', forwarded, [])).toMatchObject({ stateDiff: null, trace: [] });
  const { blockNumber } = (await ask('eth_getTransactionReceipt', forwarded)) as { blockNumber: Hex };
  expect(await ask('trace_replayBlockTransactions', blockNumber, ['stateDiff', 'trace'])).toEqual([
    { ...(replayed as object), transactionHash: forwarded },
  ]);
  expect(await ask('trace_replayTransaction', `0x${'ab'.repeat(32)}`, ['trace'])).toBe(null);
});

test('calls that are not sent show what they would do, each on what those before it left', async () => {
  const stranger: Hex = `0x${'55'.repeat(20)}`;
  const payment = { from: funded, to: stranger, value: '0x5' };
  const passed = { from: stranger, to: heir, value: '0x5' };
  const kinds = ['stateDiff', 'trace'];
  const before = await ask('eth_getBalance', stranger, 'latest');
  const one = await ask('trace_call', payment, kinds);
  expect(one).toMatchObject({
    output: '0x',
    vmTrace: null,
    stateDiff: { [stranger]: { balance: { '+': '0x5' } } },
    trace: [{ type: 'call', action: { callType: 'call', from: funded, to: stranger, value: '0x5' }, traceAddress: [] }],
  });
  const spent = { from: '0x5', to: '0x0' };
  expect(
    await ask('trace_callMany', [
      [payment, kinds],
      [passed, kinds],
    ]),
  ).toMatchObject([one, { stateDiff: { [stranger]: { balance: { '*': spent } } }, trace: [{ action: passed }] }]);
  expect(await ask('trace_callMany', [[passed, kinds]])).toBe(-32000);
  expect(await ask('trace_call', payment, [], 'latest')).toMatchObject({ stateDiff: null, trace: [] });
  expect(
    await ask(
      'trace_callMany',
      Array.from({ length: 101 }, () => [payment, []]),
    ),
  ).toBe(-32602);
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1n, gasLimit: 50_000n };
  const tx = createFeeMarket1559Tx(
    { chainId: 76857769n, nonce: nonce + 9n, ...fees, to: stranger, value: 5n },
    { common },
  );
  const raw = bytesToHex(tx.sign(hexToBytes(fundedKey)).serialize());
  const replayed = (await ask('trace_rawTransaction', raw, kinds)) as { stateDiff: object; trace: object };
  expect(replayed).toMatchObject({ stateDiff: { [stranger]: { balance: { '+': '0x5' } } } });
  expect(replayed.trace).toMatchObject([{ action: { from: funded, to: stranger, gas: '0x7148' } }]);
  expect(await ask('trace_rawTransaction', raw.slice(0, -2), kinds)).toBe(-32000);
  expect(await ask('eth_getBalance', stranger, 'latest')).toBe(before);
});

test('searches page by page towards both ends, the newest first', async () => {
  const hashesOf = (answer: unknown): string[] => (answer as { txs: { hash: string }[] }).txs.map(({ hash }) => hash);
  const all = hashesOf(await ask('ots_searchTransactionsBefore', funded, 0, 100));
  expect(all).toHaveLength(Number(nonce));
  const newest = (await ask('ots_searchTransactionsBefore', funded, 0, 1)) as { txs: { blockNumber: Hex }[] };
  expect(newest).toMatchObject({ txs: [{ hash: all[0] }], firstPage: true, lastPage: false });
  const [last] = newest.txs;
  const next = await ask('ots_searchTransactionsBefore', funded, Number(last?.blockNumber), 100);
  expect([hashesOf(next), next]).toEqual([all.slice(1), expect.objectContaining({ firstPage: false, lastPage: true })]);
  const oldest = await ask('ots_searchTransactionsAfter', funded, 0, 2);
  expect([hashesOf(oldest), oldest]).toEqual([
    all.slice(-2),
    expect.objectContaining({ firstPage: false, lastPage: true }),
  ]);
  expect(hashesOf(await ask('ots_searchTransactionsBefore', created(1), 0, 25))).toEqual([all[0], all.at(-2)]);
  expect(await ask('ots_searchTransactionsBefore', funded, 0, 1_000)).toBe(-32602);
});

test('headers and raw transactions are those of the blocks, which have no uncles', async () => {
  const latest = (await ask('eth_getBlockByNumber', 'latest', false)) as Record<string, unknown>;
  const header = (await ask('eth_getHeaderByNumber', 'latest')) as Record<string, unknown>;
  expect(latest).toMatchObject(header);
  expect(await ask('eth_getHeaderByHash', latest['hash'])).toEqual(header);
  const [hash] = latest['transactions'] as string[];
  const raw = await ask('eth_getRawTransactionByHash', hash);
  expect(await ask('eth_getRawTransactionByBlockHashAndIndex', latest['hash'], '0x0')).toBe(raw);
  expect(await ask('eth_getRawTransactionByBlockNumberAndIndex', latest['number'], '0x0')).toBe(raw);
  expect(await ask('eth_sendRawTransaction', raw)).toBe(hash);
  expect(await ask('eth_getUncleCountByBlockHash', latest['hash'])).toBe('0x0');
  expect(await ask('eth_getUncleByBlockNumberAndIndex', latest['number'], '0x0')).toBe(null);
});
