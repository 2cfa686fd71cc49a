import { createFeeMarket1559Tx } from '@ethereumjs/tx';
import { bytesToHex, createContractAddress, createAddressFromString, hexToBytes } from '@ethereumjs/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkChain } from '../../../src/edges/evm/executor/state/genesis.ts';
import { keccak256 } from '../../../src/edges/evm/executor/keccak.ts';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import { funded, fundedKey, type SealingChain, startSealingChain } from '../../support/chains/sealing-chain.ts';

type Hex = `0x${string}`;

let chain: SealingChain;
beforeAll(async () => {
  chain = await startSealingChain({ namespaces: ['eth', 'debug', 'trace'] });
});
afterAll(async () => await chain.stop());

async function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(chain.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
  return error ?? result;
}

const at = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [main, logging, calling, failing, ending, heir] = ['a', 'b', 'c', 'd', 'e', 'f'].map(at) as [
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
];
const push = (address: Hex): string => `73${address.slice(2)}`;
const pop = '50';
const log0 = '5f5fa0';
const log1 = (topic: string): string => `60${topic}5f5fa1`;
const call = (to: Hex): string => `5f5f5f5f5f${push(to)}5af1${pop}`;
const staticCall = (to: Hex): string => `5f5f5f5f${push(to)}5afa${pop}`;
const delegateCall = (to: Hex): string => `5f5f5f5f${push(to)}5af4${pop}`;
const createEmpty = `60015f5ff0${pop}`;
const code = (...parts: readonly string[]): { code: string } => ({ code: `0x${parts.join('')}00` });

const contracts = {
  [main]: {
    ...code(
      log1('01'),
      delegateCall(logging),
      staticCall(calling),
      log1('02'),
      call(failing),
      createEmpty,
      call(ending),
    ),
    balance: '0x5',
  },
  [logging]: code(log0),
  [calling]: code(call(logging)),
  [failing]: code(call(logging), '5f5ffd'),
  [ending]: { ...code(push(heir), 'ff'), balance: '0x7' },
};
const request = { from: funded, to: main, gas: '0x1000000' };
const number = expect.stringMatching(/^0x[0-9a-f]+$/) as unknown;
const frame = (type: string, from: Hex, to: unknown, more: object = {}): object => ({
  type,
  from,
  to,
  gas: number,
  gasUsed: number,
  input: '0x',
  ...(type !== 'STATICCALL' && { value: '0x0' }),
  ...more,
});
const log = (address: Hex, topics: readonly string[], position: Hex): object => ({
  address,
  topics,
  data: '0x',
  position,
});
const word = (digits: string): Hex => `0x${digits.padStart(64, '0')}`;

describe('debug_traceCall', () => {
  const traced = async (tracerConfig: object): Promise<unknown> =>
    await ask('debug_traceCall', request, 'latest', { tracer: 'callTracer', tracerConfig, stateOverrides: contracts });

  test('shows each call by the instruction that made it, and logs where they were written', async () => {
    expect(await traced({ withLog: true })).toEqual(
      frame('CALL', funded, main, {
        gas: '0x1000000',
        calls: [
          frame('DELEGATECALL', main, logging, { logs: [log(main, [], '0x0')] }),
          frame('STATICCALL', main, calling, {
            calls: [frame('CALL', calling, logging, { error: 'write protection' })],
          }),
          frame('CALL', main, failing, {
            error: 'execution reverted',
            calls: [frame('CALL', failing, logging)],
          }),
          frame('CREATE', main, createContractAddress(createAddressFromString(main), 0n).toString(), { input: '0x00' }),
          frame('CALL', main, ending, {
            calls: [frame('SELFDESTRUCT', ending, heir, { value: '0x7', gas: '0x0', gasUsed: '0x0' })],
          }),
        ],
        logs: [log(main, [word('1')], '0x0'), log(main, [word('2')], '0x2')],
      }),
    );
  });

  test('shows the first call alone where that is wanted, and no logs unasked', async () => {
    const top = (await traced({ onlyTopCall: true })) as Record<string, unknown>;
    expect(top).toEqual(frame('CALL', funded, main, { gas: '0x1000000' }));
    expect(JSON.stringify(await traced({}))).not.toContain('topics');
  });

  test('shows instructions where no tracer is named, in the state that is pretended', async () => {
    const stored = { [main]: { ...code('60055f55', '5f54'), stateDiff: { [word('0')]: word('9') } } };
    const trace = await ask('debug_traceCall', request, 'latest', { stateOverrides: stored, disableStack: true });
    expect(trace).toEqual({
      gas: expect.any(Number),
      failed: false,
      returnValue: '0x',
      structLogs: [
        expect.objectContaining({ pc: 0, op: 'PUSH1', depth: 1 }),
        expect.objectContaining({ pc: 2, op: 'PUSH0' }),
        expect.objectContaining({ pc: 3, op: 'SSTORE', storage: { [word('0')]: word('5') } }),
        expect.objectContaining({ pc: 4, op: 'PUSH0' }),
        expect.objectContaining({ pc: 5, op: 'SLOAD', storage: { [word('0')]: word('5') } }),
        expect.objectContaining({ pc: 6, op: 'STOP' }),
      ],
    });
  });

  test('tells a revert as what the call does, and refuses what cannot run at all', async () => {
    const reverts = await ask('debug_traceCall', { ...request, to: failing }, 'latest', {
      tracer: 'callTracer',
      stateOverrides: contracts,
    });
    expect(reverts).toMatchObject({ type: 'CALL', error: 'execution reverted' });
    const poor = { ...request, from: heir, value: '0x1' };
    expect(await ask('debug_traceCall', poor, 'latest', { tracer: 'callTracer' })).toMatchObject({ code: -32000 });
    expect(await ask('debug_traceCall', request, 'latest', { tracer: 'none' })).toMatchObject({ code: -32602 });
  });

  test('leaves nothing behind: a call after it is traced alone', async () => {
    const alone = { tracer: 'callTracer', tracerConfig: { withLog: true } };
    await ask('debug_traceCall', { ...request, from: heir, value: '0x1' }, 'latest', alone);
    const plain = await ask('debug_traceCall', request, 'latest', alone);
    expect(plain).toEqual(frame('CALL', funded, main, { gas: '0x1000000' }));
  });
});

describe('other tracers', () => {
  const traced = async (tracer: string, tracerConfig: object, more: object = {}): Promise<unknown> =>
    await ask('debug_traceCall', { ...request, ...more }, 'latest', {
      tracer,
      tracerConfig,
      stateOverrides: { ...contracts, [writing]: written },
    });
  const writing = at('9');
  const written = { ...code('60055f55'), balance: '0x3', stateDiff: { [word('0')]: word('9') } };
  const callsOf = async (config: object): Promise<unknown> =>
    ((await traced('flatCallTracer', config)) as { traceAddress: number[]; type: string; error?: string }[]).map(
      ({ traceAddress, type, error }) => [traceAddress.join('.'), type, error],
    );

  test('flatCallTracer lists the calls one behind the other, errors in either words', async () => {
    const calls = [
      ['', 'call', undefined],
      ['0', 'call', undefined],
      ['1', 'call', undefined],
      ['1.0', 'call', 'Mutable Call In Static Context'],
      ['2', 'call', 'Reverted'],
      ['2.0', 'call', undefined],
      ['3', 'create', undefined],
      ['4', 'call', undefined],
      ['4.0', 'suicide', undefined],
    ];
    expect(await callsOf({ convertParityErrors: true })).toEqual(calls);
    expect(await callsOf({})).toEqual(expect.arrayContaining([['2', 'call', 'execution reverted']]));
    expect(await traced('flatCallTracer', {})).toMatchObject([
      { action: { callType: 'call', from: funded, to: main, input: '0x', value: '0x0' }, subtraces: 5 },
      { action: { callType: 'delegatecall', from: main, to: logging }, result: { output: '0x' } },
      {},
      { action: { callType: 'call', from: calling, to: logging } },
      { result: { output: '0x' }, subtraces: 1 },
      {},
      { action: { creationMethod: 'create', from: main, init: '0x00' }, result: { code: '0x' } },
      {},
      { action: { address: ending, balance: '0x7', refundAddress: heir }, result: null },
    ]);
  });

  test('prestateTracer shows what was needed, or what was changed, of the state before', async () => {
    const to = { to: writing };
    const before = (await traced('prestateTracer', {}, to)) as Record<string, unknown>;
    expect(Object.keys(before).toSorted()).toEqual([writing, funded].toSorted());
    const codeHash = bytesToHex(keccak256(hexToBytes(written.code as Hex)));
    const own = { balance: '0x3', code: written.code, codeHash, storage: { [word('0')]: word('9') } };
    expect(before[writing]).toEqual(own);
    expect(await traced('prestateTracer', { disableCode: true, disableStorage: true }, to)).toMatchObject({
      [writing]: { balance: '0x3' },
    });
    const { post, pre } = (await traced('prestateTracer', { diffMode: true }, to)) as Record<'post' | 'pre', object>;
    expect(pre).toMatchObject({ [writing]: own });
    expect(post).toMatchObject({ [writing]: { storage: { [word('0')]: word('5') } }, [funded]: { nonce: 1 } });
    const paid = (await traced('prestateTracer', { diffMode: true }, { to: at('8'), value: '0x1' })) as typeof before;
    expect(paid).toMatchObject({ post: { [at('8')]: { balance: '0x1' } } });
    expect(paid['pre']).not.toHaveProperty(at('8'));
  });

  test('4byteTracer, noopTracer, and several together', async () => {
    const selected = { '0x12345678-1': 1 };
    const input = { input: '0x12345678aa' };
    expect(await traced('4byteTracer', {}, input)).toEqual(selected);
    expect(await traced('noopTracer', {}, input)).toEqual({});
    const both = { '4byteTracer': {}, callTracer: { onlyTopCall: true }, prestateTracer: {} };
    expect(await traced('muxTracer', both, { ...input, to: writing })).toEqual({
      '4byteTracer': selected,
      callTracer: frame('CALL', funded, writing, { gas: '0x1000000', input: input.input }),
      prestateTracer: await traced('prestateTracer', {}, { to: writing }),
    });
  });
});

test('debug_traceTransaction shows a contract as it is made, with the code that makes it', async () => {
  const initCode: Hex = `0x${log0}60015ff3`;
  const config = networkChain({ chainId: 76857769, seconds: 1_700_000_000, accounts: {} });
  const common = createForks(config).at({ number: 1n, timestamp: 1_700_000_001n });
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 1n, gasLimit: 200_000n };
  const tx = createFeeMarket1559Tx({ ...fees, nonce: 0n, data: hexToBytes(initCode) }, { common });
  const signed = tx.sign(hexToBytes(fundedKey));
  const hash = await ask('eth_sendRawTransaction', bytesToHex(signed.serialize()));
  await chain.seal();
  const made = createContractAddress(createAddressFromString(funded), 0n).toString();
  const wanted = { tracer: 'callTracer', tracerConfig: { withLog: true } };
  const told = frame('CREATE', funded, made, {
    gas: '0x30d40',
    input: initCode,
    output: '0x00',
    logs: [log(made, [], '0x0')],
  });
  expect(await ask('debug_traceTransaction', hash, wanted)).toEqual(told);
  const { blockNumber } = (await ask('eth_getTransactionReceipt', hash)) as { blockNumber: Hex };
  expect(await ask('debug_traceBlockByNumber', blockNumber, wanted)).toEqual([{ txHash: hash, result: told }]);
  const raw = await ask('debug_getRawBlock', blockNumber);
  expect(await ask('debug_traceBlock', raw, wanted)).toEqual([{ txHash: hash, result: told }]);
  expect(await ask('debug_traceBlock', '0x01', wanted)).toMatchObject({ code: -32000 });

  const position = { transactionHash: hash, transactionPosition: 0, blockNumber: Number(blockNumber) };
  const action = { creationMethod: 'create', from: funded, init: initCode, value: '0x0' };
  const shown = { action, result: { address: made, code: '0x00' }, type: 'create', traceAddress: [], ...position };
  const calls = await ask('trace_transaction', hash);
  expect(calls).toMatchObject([shown]);
  expect(await ask('trace_block', blockNumber)).toEqual(calls);
  expect(await ask('trace_get', hash, [])).toMatchObject(shown);
  const range = { fromBlock: '0x0', toBlock: 'latest' };
  expect(await ask('trace_filter', { ...range, toAddress: [made] })).toEqual(calls);
  expect(await ask('trace_filter', { ...range, fromAddress: [made], toAddress: [funded] })).toEqual([]);
  const either = { ...range, fromAddress: [funded], toAddress: [funded] };
  expect(await ask('trace_filter', either)).toEqual(calls);
  expect(await ask('trace_filter', { ...either, mode: 'intersection' })).toEqual([]);
  expect(await ask('trace_filter', { ...either, after: 1 })).toEqual([]);
  expect(await ask('trace_transaction', word('1'))).toBe(null);
  const [, { gasUsed }] = (await Promise.all([calls, ask('eth_getTransactionReceipt', hash)])) as [
    unknown,
    { gasUsed: Hex },
  ];
  const [{ result }] = calls as [{ result: { gasUsed: Hex } }];
  expect(BigInt(result.gasUsed)).toBeLessThan(BigInt(gasUsed) - 53_000n);
});
