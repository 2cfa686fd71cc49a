import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createBlock } from '@ethereumjs/block';
import { createTxFromRLP } from '@ethereumjs/tx';
import { createAddressFromString, hexToBytes } from '@ethereumjs/util';
import { runTx } from '@ethereumjs/vm';
import { expect, test } from 'vitest';
import { createExecutor } from '../../../src/edges/evm/executor/executor.ts';
import { createForks } from '../../../src/edges/evm/executor/forks.ts';
import type { Hex } from '../../../src/edges/evm/executor/outcome.ts';
import { createReader } from '../../../src/edges/evm/executor/reader.ts';
import type { GethGenesis } from '../../../src/edges/evm/executor/state/genesis.ts';
import { foreignChain } from '../../../tools/foreign-chain/geth-forms.ts';
import { type TraceOptions, tracerOf } from '../../../src/edges/evm/executor/trace.ts';
import { attach } from '../../../src/edges/evm/executor/tracers/tracer.ts';
import { createMemoryNodes } from '../../support/histories/memory-nodes.ts';

/** A traced transaction in the form in which go-ethereum publishes its own. */
type Example = Readonly<{
  genesis: Readonly<{
    config: GethGenesis['config'];
    alloc: Readonly<Record<string, Readonly<{ balance: string; nonce?: string; code?: string; storage?: object }>>>;
  }>;
  context: Readonly<Record<'number' | 'timestamp' | 'gasLimit' | 'difficulty', string> & { miner: Hex }> &
    Readonly<{ baseFeePerGas?: string }>;
  input: Hex;
  tracerConfig?: TraceOptions['tracerConfig'];
  result: unknown;
}>;

/** The tracer of each folder of go-ethereum's `eth/tracers/internal/tracetest/testdata` that is ours as well. */
const tracers: Readonly<Record<string, TraceOptions['tracer']>> = {
  call_tracer: 'callTracer',
  call_tracer_withLog: 'callTracer',
  call_tracer_flat: 'flatCallTracer',
  prestate_tracer: 'prestateTracer',
  prestate_tracer_with_diff_mode: 'prestateTracer',
};

const own = path.join(import.meta.dirname, '../../fixtures/traces');
const folder = process.env['TRACE_EXAMPLES'] ?? own;
const examples = Object.entries(tracers).flatMap(([name, tracer]) =>
  readdirSync(path.join(folder, name))
    .filter((file) => file.endsWith('.json'))
    .map((file) => ({ name: `${name}/${file}`, tracer })),
);

const hex = (value: string | number = 0): Hex => `0x${BigInt(value).toString(16)}`;
const zero: Hex = `0x${'0'.repeat(64)}`;

/** go-ethereum reads names in any case, and seals nothing here. */
function forksOf({ clique, IstanbulBlock: istanbulBlock, ...config }: GethGenesis['config'] & Capitals) {
  return {
    ...config,
    ...(istanbulBlock !== undefined && { istanbulBlock }),
    // The library knows both as one fork.
    ...(config.eip158Block !== undefined && { eip155Block: config.eip158Block }),
    ...(clique !== undefined && { ethash: {} }),
  };
}
type Capitals = Readonly<{ clique?: object; IstanbulBlock?: number }>;

/** The state before a transaction as the genesis of a chain; go-ethereum writes numbers in either form. */
function genesisOf({ genesis: { config, alloc } }: Example): GethGenesis {
  const accounts = Object.entries(alloc).map(([address, { balance, nonce, code = '0x', storage = {} }]) => [
    address,
    { balance: hex(balance), nonce: hex(nonce), ...(code !== '0x' && { code }), storage },
  ]);
  return {
    config: forksOf(config),
    alloc: Object.fromEntries(accounts) as GethGenesis['alloc'],
    nonce: '0x0',
    timestamp: '0x0',
    extraData: '0x',
    gasLimit: '0x1000000',
    difficulty: '0x1',
    mixHash: zero,
    coinbase: `0x${'0'.repeat(40)}`,
    ...(config.londonBlock === 0 && { baseFeePerGas: '0x7' }),
    ...(config.cancunTime === 0 && { excessBlobGas: '0x0' }),
  };
}

const bytesOf = (input: string): Uint8Array => hexToBytes(input.startsWith('0x') ? (input as Hex) : `0x${input}`);

/** What go-ethereum's own test does not compare: the place of a transaction, and empty values. */
const places = new Set(['blockHash', 'blockNumber', 'transactionHash', 'transactionPosition']);
const empty = new Set([undefined, null, '', '0x', '0x0', `0x${'0'.repeat(40)}`]);

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, one]): [string, unknown][] => {
    const shown = plain(one);
    const isEmpty =
      empty.has(shown as string) || (Object(shown) === shown && Object.keys(shown as object).length === 0);
    return isEmpty || places.has(name) ? [] : [[name, shown]];
  });
  return Object.fromEntries(fields);
}

async function traced(example: Example, tracer: TraceOptions['tracer']) {
  const { context, input, tracerConfig } = example;
  const config = foreignChain(genesisOf(example));
  const nodes = createMemoryNodes();
  const first = await createExecutor({ config, nodes }).genesis();
  await first.commit();
  const { number, timestamp, baseFeePerGas } = context;
  const common = createForks(config).at({ number: BigInt(number), timestamp: BigInt(timestamp) });
  const { vm } = await createReader({ config, nodes }).machineAt(first.header, common);
  const header = {
    number: BigInt(number),
    timestamp: BigInt(timestamp),
    gasLimit: BigInt(context.gasLimit),
    difficulty: common.consensusType() === 'pos' ? 0n : BigInt(context.difficulty),
    coinbase: createAddressFromString(context.miner),
    ...(common.isActivatedEIP(1559) && { baseFeePerGas: BigInt(baseFeePerGas ?? 0) }),
  };
  const block = createBlock({ header }, { common, skipConsensusFormatValidation: true });
  const tx = createTxFromRLP(bytesOf(input), { common });
  const follower = tracerOf(vm, { tracer, tracerConfig }, { block, index: 0, tx });
  await follower.before?.(tx);
  const stop = attach(vm, follower);
  const result = await runTx(vm, { tx, block, skipHardForkValidation: true, skipBlockGasLimitValidation: true });
  stop();
  return plain(await follower.report(result, tx));
}

test.each(examples)('traces $name as it is published', async ({ name, tracer }) => {
  const example = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Example;
  expect(await traced(example, tracer)).toEqual(plain(example.result));
});
